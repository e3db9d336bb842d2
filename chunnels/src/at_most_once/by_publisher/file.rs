//! A memory in a file.

use super::log::Log;
use super::{Memory, MessageId};
use bertha_core::{BoxFuture, Error, ErrorKind, debug_fields};
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Number of messages that are remembered by default.
const CAPACITY: usize = 65_536;

/// Maximum number of questions that wait for the disk. A connection asks one question at a time.
const QUEUE: usize = 1024;

/// A [`Memory`] in a file, which survives a restart, a crash and a loss of power.
///
/// Messages are appended and the file is synchronised before they are handed out: a message that was handed
/// out is never handed out again, by any process that opens the file later. A message that was noted, but
/// whose process was killed before it handed the message out, is lost. A burst costs one synchronisation, and
/// so do the questions of several connections that ask at the same time. A thread of its own writes, so no
/// task is held up.
///
/// The file remembers the last 65,536 messages, or [another number](Self::with_capacity), and takes at most
/// 40 bytes of disk for each message. A message that arrives again later is taken for new. One process at a
/// time can have the file open.
pub struct FileMemory {
    path: PathBuf,
    questions: Option<SyncSender<Question>>,
    thread: Option<JoinHandle<()>>,
}

struct Question {
    ids: Vec<MessageId>,
    answer: oneshot::Sender<Result<Vec<bool>, std::io::Error>>,
}

impl FileMemory {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// The errors of the system; [`Unavailable`](ErrorKind::Unavailable) if another process or value has the
    /// file open; [`Malformed`](ErrorKind::Malformed) if it is another kind of file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with_capacity(path, CAPACITY)
    }

    /// Works as [`open`](Self::open), for a memory of this number of messages, at least one.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn with_capacity(path: impl AsRef<Path>, messages: usize) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = Log::open(path);
        let (log, ids) = opened.map_err(|error| failed(path, "opened", &error))?;
        let mut taken =
            Taken { log, capacity: messages.max(1), order: VecDeque::new(), known: HashSet::new() };
        ids.into_iter().for_each(|id| taken.remember(id));
        let (questions, asked) = sync_channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("bertha-memory".into()).spawn(move || taken.serve(&asked));
        let thread = thread.map_err(Error::from)?;
        Ok(Self { path: path.into(), questions: Some(questions), thread: Some(thread) })
    }
}

impl Memory for FileMemory {
    fn take(self: Arc<Self>, ids: Vec<MessageId>) -> BoxFuture<'static, Result<Vec<bool>, Error>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let asked = self.questions.as_ref().map(|questions| questions.try_send(Question { ids, answer }));
            if let Some(Err(TrySendError::Full(_))) = asked {
                let what = format!("{} questions wait for the disk of {}", QUEUE, self.path.display());
                return Err(Error::new(ErrorKind::Exhausted, what).at("AtMostOnceByPublisher"));
            }
            let ended = || std::io::Error::other("the thread that writes has ended");
            let answer = answered.await.unwrap_or_else(|_| Err(ended()));
            answer.map_err(|error| failed(&self.path, "written", &error))
        })
    }
}

/// Ends the thread, which first answers the questions that it has.
impl Drop for FileMemory {
    fn drop(&mut self) {
        self.questions = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and there is no caller to report an error to.
            let _ = thread.join();
        }
    }
}

debug_fields!(FileMemory { path });

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::InvalidData => ErrorKind::Malformed,
        _ => ErrorKind::Unavailable,
    };
    let what = format!("the memory of messages in {} can't be {what}: {error}", path.display());
    Error::new(kind, what).at("AtMostOnceByPublisher")
}

/// The messages that were noted, in the file and in memory.
struct Taken {
    log: Log,
    capacity: usize,
    /// The messages, oldest first.
    order: VecDeque<MessageId>,
    known: HashSet<MessageId>,
}

impl Taken {
    fn serve(mut self, asked: &Receiver<Question>) {
        while let Ok(first) = asked.recv() {
            let questions: Vec<Question> = [first].into_iter().chain(asked.try_iter()).collect();
            let answers = self.take(&questions);
            for (at, question) in questions.into_iter().enumerate() {
                let answer = match &answers {
                    Ok(answers) => Ok(answers[at].clone()),
                    Err(error) => Err(std::io::Error::new(error.kind(), error.to_string())),
                };
                // The caller may have gone.
                let _ = question.answer.send(answer);
            }
        }
    }

    /// Answers questions, with one synchronisation of the file for all of them.
    fn take(&mut self, questions: &[Question]) -> Result<Vec<Vec<bool>>, std::io::Error> {
        let mut new = Vec::new();
        let mut noted = HashSet::new();
        let answers = questions.iter().map(|question| {
            let is_first = |id: &MessageId| {
                let is_first = !self.known.contains(id) && noted.insert(*id);
                new.extend(is_first.then_some(*id));
                is_first
            };
            question.ids.iter().map(is_first).collect()
        });
        let answers = answers.collect();
        if new.is_empty() {
            return Ok(answers);
        }
        self.log.append(&new)?;
        new.into_iter().for_each(|id| self.remember(id));
        if self.log.records() >= 2 * self.capacity as u64 {
            // The file grows until the replacement succeeds.
            let _ = self.log.replace(self.order.iter().copied());
        }
        Ok(answers)
    }

    fn remember(&mut self, id: MessageId) {
        if self.known.insert(id) {
            self.order.push_back(id);
        }
        if self.order.len() > self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
