//! The server, which serves all clients until it is interrupted.

use super::answering::answer;
use super::refusals::Refusals;
use super::tally::Tally;
use crate::drops::{Row, rows};
use crate::output;
use crate::rate;
use crate::site::{Place, Site};
use bertha::core::Drops;
use bertha::prelude::*;
use bertha::{Base, Buf, Datapath, Error, Negotiated};
use bertha_named::{Counted, Loss, Losses, OverDatapath, Side, Stack};
use bertha_program::{Termination, escaped, exposure};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Longest time of a close at the end.
const CLOSING: Duration = Duration::from_secs(1);

/// Answers the clients of `perf` and `ping` until a signal comes; then closes their connections.
///
/// # Errors
/// Errors of listening.
pub(crate) async fn serve(
    site: &Site,
    stack: &Stack,
    on: &str,
    json: bool,
    termination: &Termination,
) -> Result<(), Error> {
    let place = termination.work(Place::find(on)).await?;
    site.transport().run(Server { site, stack, place, json, termination }).await
}

struct Server<'a> {
    site: &'a Site,
    stack: &'a Stack,
    place: Place,
    json: bool,
    termination: &'a Termination,
}

/// The line about a client that has gone.
#[derive(Serialize)]
struct Served {
    client: String,
    messages: u64,
    bytes: u64,
    late: u64,
    pings: u64,
    foreign: u64,
    sent_messages: u64,
    sent_bytes: u64,
    seconds: f64,
    bits_per_second: f64,
    end: String,
    dropped: Vec<Row>,
    /// The losses of the datapath's port, if it has one, since the last such line: of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<Vec<Loss>>,
}

impl OverDatapath for Server<'_> {
    type Output = ();

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<(), Error> {
        let Self { site, stack: text, place, json, termination } = self;
        let stack = site.stack(text, Side::Server, &datapath)?;
        let mut settings = site.settings();
        // Parallel connections all come from a single address at once.
        settings.offers_per_second = u32::MAX;
        let shown = stack.explain().to_string();
        exposure::warn_of_address(&place.addr);
        let mut incoming = stack.listen(datapath.clone(), place.addr).settings(settings).await?;
        let _registration = site.register(text, &incoming.local_addr()).await;
        let listening =
            format!("listening on {} over {}: {shown}", incoming.local_addr(), site.transport().name());
        match json {
            true => output::json(&serde_json::json!({ "listening": incoming.local_addr().to_string() }))?,
            false => output::line(listening)?,
        }
        let port = Arc::new(Port { datapath, told: Mutex::default() });
        let mut clients = JoinSet::new();
        let mut refusals = Refusals::default();
        loop {
            tokio::select! {
                accepted = incoming.next_or_refusal() => match accepted {
                    Some(Ok(connection)) => {
                        clients.spawn(until_gone(connection, port.clone(), json, termination.clone()));
                    }
                    Some(Err(error)) => refusals.add(&error),
                    None => break,
                },
                Some(_) = clients.join_next() => {}
                () = refusals.due() => output::line(refusals.line(json, Instant::now()))?,
                () = termination.wait() => break,
            }
        }
        if refusals.are_untold() {
            output::line(refusals.line(json, Instant::now()))?;
        }
        // The path of a Unix socket is removed at once, so that no further client comes.
        drop(incoming);
        // A client that does not answer is given up.
        let _ = timeout(2 * CLOSING, async { while clients.join_next().await.is_some() {} }).await;
        Ok(())
    }
}

/// A datapath, and its losses that were told.
struct Port<D> {
    datapath: D,
    told: Mutex<Losses>,
}

impl<D: Counted> Port<D> {
    /// Returns the losses since the last call.
    fn news(&self) -> Losses {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.datapath.losses();
        let news = all.since(&told);
        *told = all;
        news
    }
}

/// Answers a client until it has gone or a signal comes, and prints the line about it.
async fn until_gone(
    connection: Negotiated<impl Connection<Data = Buf>>,
    port: Arc<Port<impl Counted>>,
    json: bool,
    termination: Termination,
) {
    let mut tally = Tally::default();
    let end = tokio::select! {
        end = answer(&connection, &mut tally) => end,
        () = termination.wait() => termination.interrupted(),
    };
    if termination.has_come() {
        // The end of the program does not depend on how the connection ends.
        let _ = timeout(CLOSING, connection.close()).await;
    }
    let (drops, losses) = (connection.drops(), port.news());
    let client = connection.base().peer_addr().to_string();
    // If the output has no reader any more, the server still answers.
    let _ = match json {
        true => output::json(&served(client, &tally, &end, &drops, &losses)),
        false => output::line(sentence(&served(client, &tally, &end, &drops, &losses), &drops, &losses)),
    };
}

fn served(client: String, tally: &Tally, end: &Error, drops: &Drops, losses: &Losses) -> Served {
    let seconds = tally.elapsed().as_secs_f64();
    Served {
        client,
        messages: tally.messages,
        bytes: tally.bytes,
        late: tally.late,
        pings: tally.pings,
        foreign: tally.foreign,
        sent_messages: tally.sent.messages,
        sent_bytes: tally.sent.bytes,
        seconds,
        bits_per_second: rate::bits_per_second(tally.bytes, seconds),
        end: escaped(&end.to_string()),
        dropped: rows(drops),
        port: losses.rows(),
    }
}

fn sentence(served: &Served, drops: &Drops, losses: &Losses) -> String {
    let Served { client, messages, late, pings, sent_messages, seconds, end, .. } = served;
    let bytes = rate::bytes(served.bytes);
    let rate = rate::bits(served.bits_per_second);
    format!(
        "{client}: {messages} messages, {bytes} in {seconds:.2} s, {rate}, {late} late; {pings} pings; {sent_messages} sent; dropped: {drops}{losses}; {end}"
    )
}
