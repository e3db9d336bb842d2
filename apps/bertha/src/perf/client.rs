//! The client, which connects, sends or receives on all connections at once, and prints figures meanwhile and
//! at the end.

use super::Perf;
use super::figures::{Ended, HEADING, Interval, Span};
use super::fitting::fitting;
use super::plot::{self, Figure, History};
use super::stream::{Outcome, message_length};
use super::{reverse, stream};
use crate::drops::{Row, rows};
use crate::output;
use crate::probe::Transferred;
use crate::site::Place;
use bertha::core::Drops;
use bertha::prelude::*;
use bertha::{Base, Datapath, Error, ErrorKind};
use bertha_named::{Counted, Loss, OverDatapath, Side};
use bertha_program::escaped;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval_at};

pub(super) struct Client<'a> {
    pub(super) perf: &'a Perf,
    pub(super) place: Place,
    /// The figure to draw.
    pub(super) figure: Option<Figure>,
}

/// A connection that has sent or received.
struct Finished {
    number: usize,
    outcome: Result<Outcome, Error>,
    drops: Drops,
    history: History,
}

/// The outcomes of all connections, in their order.
struct Watched {
    intervals: Vec<Interval>,
    outcomes: Vec<Outcome>,
    drops: Drops,
    histories: Vec<History>,
}

/// The result as JSON.
#[derive(Serialize)]
struct Printed {
    start: Start,
    intervals: Vec<Interval>,
    end: End,
    dropped: Vec<Row>,
    /// The losses of the datapath's port, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<Vec<Loss>>,
}

#[derive(Serialize)]
struct Start {
    version: &'static str,
    datapath: String,
    stack: String,
    agreement: String,
    connecting_to: String,
    parallel: usize,
    reverse: bool,
    length: usize,
}

#[derive(Serialize)]
struct End {
    streams: Vec<Ended>,
    sum_sent: Span,
    sum_received: Option<Span>,
    sum: Ended,
}

impl OverDatapath for Client<'_> {
    type Output = ();

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<(), Error> {
        let Self { perf, place, figure } = self;
        let stack = perf.site.stack(&perf.stack, Side::Client { host: &place.host }, &datapath)?;
        let mut connections = Vec::new();
        let mut length = usize::MAX;
        for _ in 0..perf.parallel.get() {
            let connecting = stack.connect(datapath.clone(), place.addr.clone());
            let connecting = connecting.settings(perf.site.settings()).into_future();
            let connection = perf.site.in_time(connecting).await?;
            let mut fits = message_length(&connection, perf.length)?;
            if perf.length.is_none() && !connection.base().properties().reliable {
                fits = fitting(&connection, fits).await?;
            }
            length = length.min(fits);
            if figure.is_some() {
                plot::check(&connection.statistics())?;
            }
            connections.push(connection);
        }
        let agreement =
            connections.first().map_or_else(String::new, |first| escaped(&first.explain().to_string()));
        let start = Start {
            version: env!("CARGO_PKG_VERSION"),
            datapath: perf.site.transport().to_string(),
            stack: perf.stack.to_string(),
            agreement,
            connecting_to: place.addr.to_string(),
            parallel: perf.parallel.get(),
            reverse: perf.reverse,
            length,
        };
        if !perf.json {
            output::line(start.sentence())?;
        }

        let counters: Vec<Arc<Transferred>> = connections.iter().map(|_| Arc::default()).collect();
        let mut running = JoinSet::new();
        for (number, (connection, counts)) in connections.into_iter().zip(&counters).enumerate() {
            let counts = counts.clone();
            let time = perf.time;
            let is_reverse = perf.reverse;
            let is_drawn = figure.is_some();
            running.spawn(async move {
                let mut history = History::default();
                let outcome = if is_reverse {
                    reverse::run(&connection, length, time, &counts).await
                } else {
                    let sending = stream::run(&connection, length, time, &counts);
                    if is_drawn {
                        let outcome;
                        (outcome, history) =
                            plot::followed(sending, time, &counts, || connection.statistics()).await;
                        outcome
                    } else {
                        sending.await
                    }
                };
                // The outcome is known; it does not change if the peer has gone meanwhile.
                let _ = connection.close().await;
                Finished { number, outcome, drops: connection.drops(), history }
            });
        }
        let Watched { intervals, outcomes, drops, histories } = watch(perf, &counters, running).await?;
        if let Some(figure) = figure {
            figure.draw(&title(perf, &place), &histories)?;
        }
        let losses = datapath.losses();
        let streams: Vec<Ended> = outcomes.iter().map(Ended::of).collect();
        let sum = Ended::sum(&streams);
        let is_silent = streams.iter().any(|stream| stream.receiver.is_none());
        let outcome = match is_silent {
            true => Err(Error::new(ErrorKind::TimedOut, "the server did not report")),
            false => Ok(()),
        };
        if perf.json {
            let end = End { streams, sum_sent: sum.sender, sum_received: sum.receiver, sum };
            output::json(&Printed { start, intervals, end, dropped: rows(&drops), port: losses.rows() })?;
            return outcome;
        }
        output::line(format!("- - -\n{HEADING}"))?;
        for (number, ended) in streams.iter().enumerate() {
            output::line(ended.lines(&(number + 1).to_string()))?;
        }
        match streams.len() {
            1 => {}
            _ => output::line(sum.lines("SUM"))?,
        }
        output::line(format!("dropped at this end: {drops}{losses}"))?;
        if let Some(file) = &perf.plot {
            output::line(format!("drawn: {}", escaped(&file.to_string_lossy())))?;
        }
        outcome
    }
}

impl Start {
    fn sentence(&self) -> String {
        let Self { connecting_to, parallel, length, datapath, agreement, reverse, .. } = self;
        let end = if *reverse { "the server" } else { "this end" };
        format!(
            "{parallel} connection(s) to {connecting_to} over {datapath}, {end} sends messages of {length} bytes\n{agreement}\n{HEADING}"
        )
    }
}

/// Waits for all connections, and takes figures at each interval.
async fn watch(
    perf: &Perf,
    counters: &[Arc<Transferred>],
    mut running: JoinSet<Finished>,
) -> Result<Watched, Error> {
    let start = Instant::now();
    let mut ticks = interval_at((start + perf.interval).into(), perf.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut intervals = Vec::new();
    let mut ended = Vec::new();
    let mut seen: Vec<Transferred> = counters.iter().map(|_| Transferred::default()).collect();
    let mut last = Duration::ZERO;
    let mut drops = Drops::default();
    loop {
        tokio::select! {
            _ = ticks.tick(), if last < perf.time => {
                let now = start.elapsed();
                let interval = interval(last, now, counters, &mut seen);
                last = now;
                if !perf.json {
                    for (number, span) in interval.streams.iter().enumerate() {
                        output::line(span.line(&(number + 1).to_string(), ""))?;
                    }
                    if interval.streams.len() > 1 {
                        output::line(interval.sum.line("SUM", ""))?;
                    }
                }
                intervals.push(interval);
            }
            joined = running.join_next() => match joined {
                None => break,
                Some(Ok(finished)) => {
                    ended.push((finished.number, finished.outcome?, finished.history));
                    drops += &finished.drops;
                }
                Some(Err(failed)) => {
                    return Err(Error::new(ErrorKind::Io, "a connection's task has ended").because(failed));
                }
            },
        }
    }
    ended.sort_by_key(|(number, ..)| *number);
    let (outcomes, histories) = ended.into_iter().map(|(_, outcome, history)| (outcome, history)).unzip();
    Ok(Watched { intervals, outcomes, drops, histories })
}

/// Returns the title of the figure.
fn title(perf: &Perf, place: &Place) -> String {
    let control = perf.site.congestion().map(|control| format!(", {control}")).unwrap_or_default();
    format!("{} to {}{control}", perf.stack, place.addr)
}

/// Returns the figures since the last interval.
fn interval(
    from: Duration,
    to: Duration,
    counters: &[Arc<Transferred>],
    seen: &mut [Transferred],
) -> Interval {
    let mut streams = Vec::with_capacity(counters.len());
    let mut all_bytes = 0;
    let mut all_messages = 0;
    for (counter, seen) in counters.iter().zip(seen) {
        let bytes = counter.bytes.load(Relaxed);
        let messages = counter.messages.load(Relaxed);
        let new_bytes = bytes - seen.bytes.swap(bytes, Relaxed);
        let new_messages = messages - seen.messages.swap(messages, Relaxed);
        streams.push(Span::new(from, to, new_bytes, new_messages));
        all_bytes += new_bytes;
        all_messages += new_messages;
    }
    Interval { streams, sum: Span::new(from, to, all_bytes, all_messages) }
}
