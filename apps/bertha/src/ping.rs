//! `bertha ping`: round-trip times over any datapath and stack.

use crate::output;
use crate::perf::length;
use crate::probe::{Kind, Probe, SHORTEST, goes_on, mark};
use crate::site::{Place, Site};
use bertha::prelude::*;
use bertha::{Base, Buf, Datapath, Error, ErrorKind};
use bertha_named::{OverDatapath, Side, Stack};
use bertha_program::values::positive_seconds;
use bertha_program::{Termination, escaped};
use clap::{Args, value_parser};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// An hour in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;

/// Measures round-trip times to a server, which `bertha perf --server` is.
#[derive(Debug, Args)]
#[command(after_help = format!("Chunnels: {}", Stack::known()))]
pub(crate) struct Ping {
    /// IP:PORT, HOST[:PORT] or unix:PATH.
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Number of messages to send, at least 1.
    #[arg(long, short, value_name = "COUNT", default_value = "10", value_parser = value_parser!(u64).range(1..))]
    count: u64,
    /// Time between two messages, in seconds. An answer that comes after the next message was sent is late,
    /// not lost.
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Length of a message, in bytes.
    #[arg(long, short, value_name = "BYTES", default_value = "64", value_parser = length)]
    length: usize,
    /// Time to wait for answers behind the last message, in seconds.
    #[arg(long, short = 'W', value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    wait: Duration,
    /// The Chunnels, top first.
    #[arg(long, value_name = "STACK", default_value_t)]
    stack: Stack,
    /// Prints a JSON object at the end.
    #[arg(long, short = 'J')]
    json: bool,
    #[command(flatten)]
    site: Site,
}

impl Ping {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let place = termination.work(Place::find(&self.address)).await?;
        self.site.transport().run(Pinging { ping: &self, place, termination }).await
    }
}

struct Pinging<'a> {
    ping: &'a Ping,
    place: Place,
    termination: &'a Termination,
}

/// The result.
#[derive(Serialize)]
struct Printed {
    address: String,
    agreement: String,
    sent: u64,
    received: u64,
    lost: u64,
    lost_percent: f64,
    /// Round-trip times; `None` if no answer came.
    microseconds: Option<Times>,
}

#[derive(Serialize)]
struct Times {
    min: f64,
    mean: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

impl OverDatapath for Pinging<'_> {
    type Output = ();

    async fn over<D: Datapath + Clone>(self, datapath: D) -> Result<(), Error> {
        let Self { ping, place, termination } = self;
        let stack = ping.site.stack(&ping.stack, Side::Client { host: &place.host }, &datapath)?;
        let connecting = stack.connect(datapath, place.addr.clone());
        let connecting = async { connecting.settings(ping.site.settings()).await };
        let connection = termination.work(ping.site.in_time(connecting)).await?;
        let agreement = escaped(&connection.explain().to_string());
        if !ping.json {
            output::line(format!("ping {}, {} bytes: {agreement}", place.addr, ping.length))?;
        }
        let mut answers = Answers::new(ping.count);
        let asked = tokio::select! {
            asked = ask(&connection, ping, &mut answers) => asked,
            // What was answered so far is told, as at the end.
            () = termination.wait() => Ok(()),
        };
        // The answers are there; they do not change if the peer has gone meanwhile.
        let _ = connection.close().await;
        asked?;
        let printed = answers.printed(place.addr.to_string(), agreement);
        match ping.json {
            true => output::json(&printed)?,
            false => output::line(printed.sentences())?,
        }
        match printed.received {
            _ if printed.sent < ping.count => Err(termination.interrupted()),
            0 => Err(Error::new(ErrorKind::TimedOut, "no message was answered")),
            _ => Ok(()),
        }
    }
}

/// Sends all messages, and takes their answers meanwhile.
async fn ask(
    connection: &impl Connection<Data = Buf>,
    ping: &Ping,
    answers: &mut Answers,
) -> Result<(), Error> {
    for number in 0..ping.count {
        let mut message = connection.base().buffer(ping.length.max(SHORTEST))?;
        mark(&mut message, Kind::Ping, number);
        answers.sent_at.push(Some(Instant::now()));
        match connection.send(message).await {
            Err(error) if !goes_on(&error) => return Err(error),
            _ => {}
        }
        let is_last = number + 1 == ping.count;
        let until = Instant::now() + if is_last { ping.wait } else { ping.interval };
        while !(is_last && answers.are_complete()) {
            let Ok(received) = timeout_at(until.into(), connection.recv()).await else { break };
            let message = match received {
                Ok(message) => message,
                Err(error) if goes_on(&error) => continue,
                Err(error) => return Err(error),
            };
            if let Some(Probe::Pong(number)) = Probe::read(&message)
                && let Some(time) = answers.on_pong(number, Instant::now())
                && !ping.json
            {
                let time = micros(time);
                output::line(format!("{} bytes: number={number} time={time:.1} us", message.len()))?;
            }
        }
    }
    Ok(())
}

/// The answers that have come.
struct Answers {
    /// Times of sending, by number; `None` once the answer has come, so that a repeated answer counts once.
    sent_at: Vec<Option<Instant>>,
    /// Round-trip times in nanoseconds.
    times: Histogram<u64>,
}

impl Answers {
    fn new(count: u64) -> Self {
        let capacity = usize::try_from(count).unwrap_or(usize::MAX).min(1 << 16);
        // The histogram keeps three digits, and times of up to an hour; longer times count as an hour.
        let times = Histogram::new_with_bounds(1, HOUR, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are in order, and three digits are possible"));
        Self { sent_at: Vec::with_capacity(capacity), times }
    }

    fn on_pong(&mut self, number: u64, now: Instant) -> Option<Duration> {
        let sent = self.sent_at.get_mut(usize::try_from(number).ok()?)?.take()?;
        let time = now - sent;
        self.times.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1));
        Some(time)
    }

    fn are_complete(&self) -> bool {
        self.times.len() == self.sent_at.len() as u64
    }

    fn printed(&self, address: String, agreement: String) -> Printed {
        let times = &self.times;
        let sent = self.sent_at.len() as u64;
        let received = self.times.len();
        let of = |nanos: u64| nanos as f64 / 1e3;
        let microseconds = (received > 0).then(|| Times {
            min: of(times.min()),
            mean: times.mean() / 1e3,
            p50: of(times.value_at_quantile(0.5)),
            p99: of(times.value_at_quantile(0.99)),
            max: of(times.max()),
        });
        let lost = sent - received;
        let lost_percent = lost as f64 * 100.0 / sent.max(1) as f64;
        Printed { address, agreement, sent, received, lost, lost_percent, microseconds }
    }
}

impl Printed {
    fn sentences(&self) -> String {
        let Self { sent, received, lost_percent, .. } = self;
        let first = format!("{sent} sent, {received} answered, {lost_percent:.1} % lost");
        match &self.microseconds {
            None => first,
            Some(Times { min, mean, p50, p99, max }) => {
                format!("{first}\nmin/mean/p50/p99/max = {min:.1}/{mean:.1}/{p50:.1}/{p99:.1}/{max:.1} us")
            }
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_once_and_only_if_it_was_asked_for() {
        let mut answers = Answers::new(3);
        let start = Instant::now();
        answers.sent_at = vec![Some(start); 3];
        let later = |millis| start + Duration::from_millis(millis);
        assert_eq!(answers.on_pong(1, later(2)), Some(Duration::from_millis(2)));
        assert_eq!(answers.on_pong(1, later(9)), None);
        assert_eq!(answers.on_pong(7, later(9)), None);
        assert!(!answers.are_complete());
        answers.on_pong(0, later(4));
        let printed = answers.printed(String::new(), String::new());
        assert_eq!((printed.received, printed.lost), (2, 1));
        let times = printed.microseconds.unwrap();
        assert!((times.min - 2_000.0).abs() < 10.0 && (times.max - 4_000.0).abs() < 10.0);
        answers.on_pong(2, later(5));
        assert!(answers.are_complete());
    }
}
