//! The terminal: keys in, pictures out.

use super::view::{Mode, View};
use super::{ask, detail, list};
use bertha::Error;
use bertha_program::Termination;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// Longest time until the thread of the keys notices the end.
const GLANCE: Duration = Duration::from_millis(100);

/// Number of keys that may wait.
const KEYS: usize = 64;

/// Shows the view until a key or a signal ends it.
pub(super) async fn show(
    folder: PathBuf,
    pause: Duration,
    view: View,
    termination: &Termination,
) -> Result<(), Error> {
    let mut screen = Screen { terminal: ratatui::try_init()? };
    let shown = screen.run(folder, pause, view, termination).await;
    drop(screen);
    shown
}

/// The terminal, which gets its former content back when the value is dropped.
struct Screen {
    terminal: DefaultTerminal,
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Screen {
    async fn run(
        &mut self,
        folder: PathBuf,
        pause: Duration,
        mut view: View,
        termination: &Termination,
    ) -> Result<(), Error> {
        let mut events = Events::read()?;
        let mut looks = interval(pause);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = termination.wait() => return Ok(()),
                _ = looks.tick(), if !view.is_stopped => {
                    let answers = ask(folder.clone()).await?;
                    view.look(answers, Instant::now());
                }
                event = events.next() => match event? {
                    // Another size is drawn below.
                    None => {}
                    Some(key) if view.take(key) => return Ok(()),
                    Some(_) => {}
                },
            }
            self.draw(&view)?;
        }
    }

    fn draw(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| match view.mode {
            Mode::Detail { from } => detail::draw(view, from, frame),
            Mode::List | Mode::Filter => list::draw(view, frame),
        })?;
        Ok(())
    }
}

/// The keys, which a thread reads, since reading a terminal blocks. The thread ends with the value.
struct Events {
    events: mpsc::Receiver<io::Result<Option<KeyEvent>>>,
    has_ended: Arc<AtomicBool>,
}

impl Events {
    fn read() -> io::Result<Self> {
        let (to_screen, events) = mpsc::channel(KEYS);
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        thread::Builder::new().name("keys".into()).spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let read = match event::poll(GLANCE) {
                    Ok(false) => continue,
                    Ok(true) => event::read(),
                    Err(error) => Err(error),
                };
                let told = match read {
                    Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Ok(Some(key)),
                    Ok(Event::Resize(..)) => Ok(None),
                    Ok(_) => continue,
                    Err(error) => Err(error),
                };
                let is_error = told.is_err();
                if to_screen.blocking_send(told).is_err() || is_error {
                    return;
                }
            }
        })?;
        Ok(Self { events, has_ended })
    }

    /// Returns the next key, or `None` if the size of the terminal has changed.
    async fn next(&mut self) -> Result<Option<KeyEvent>, Error> {
        match self.events.recv().await {
            Some(event) => Ok(event?),
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
