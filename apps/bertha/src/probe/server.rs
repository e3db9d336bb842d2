//! The server, which serves all clients until it is interrupted.

use super::answering::answer;
use super::tally::Tally;
use crate::drops::{Row, rows};
use crate::escape::escaped;
use crate::output;
use crate::rate;
use crate::site::{Place, Site};
use crate::stack::{Side, StackText};
use crate::transport::OverDatapath;
use bertha::core::Drops;
use bertha::prelude::*;
use bertha::{Base, Datapath, Error};
use serde::Serialize;

/// Answers the clients of `perf` and `ping`.
///
/// # Errors
/// Errors of listening.
pub(crate) async fn serve(site: &Site, stack: &StackText, on: &str, json: bool) -> Result<(), Error> {
    let place = Place::find(on).await?;
    site.transport().run(Server { site, stack, place, json }).await
}

struct Server<'a> {
    site: &'a Site,
    stack: &'a StackText,
    place: Place,
    json: bool,
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
}

impl OverDatapath for Server<'_> {
    async fn over<D: Datapath + Clone>(self, datapath: D) -> Result<(), Error> {
        let Self { site, stack, place, json } = self;
        let stack = site.stack(stack, Side::Server, &datapath)?;
        let mut settings = site.settings();
        // Parallel connections all come from a single address at once.
        settings.offers_per_second = u32::MAX;
        let shown = stack.explain().to_string();
        let mut incoming = stack.listen(datapath, place.addr).settings(settings).await?;
        let listening =
            format!("listening on {} over {}: {shown}", incoming.local_addr(), site.transport().name());
        match json {
            true => output::json(&serde_json::json!({ "listening": incoming.local_addr().to_string() }))?,
            false => output::line(listening)?,
        }
        while let Some(accepted) = incoming.next_or_refusal().await {
            let connection = match accepted {
                Ok(connection) => connection,
                Err(error) => {
                    output::line(refusal(&error, json))?;
                    continue;
                }
            };
            tokio::spawn(async move {
                let mut tally = Tally::default();
                let end = answer(&connection, &mut tally).await;
                let drops = connection.drops();
                let client = connection.base().peer_addr().to_string();
                // If the output has no reader any more, the server still answers.
                let _ = match json {
                    true => output::json(&served(client, &tally, &end, &drops)),
                    false => output::line(sentence(&served(client, &tally, &end, &drops), &drops)),
                };
            });
        }
        Ok(())
    }
}

fn refusal(error: &Error, json: bool) -> String {
    let reason = escaped(&error.to_string());
    match json {
        true => serde_json::json!({ "refused": reason }).to_string(),
        false => format!("a client was not served: {reason}"),
    }
}

fn served(client: String, tally: &Tally, end: &Error, drops: &Drops) -> Served {
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
    }
}

fn sentence(served: &Served, drops: &Drops) -> String {
    let Served { client, messages, late, pings, sent_messages, seconds, end, .. } = served;
    let bytes = rate::bytes(served.bytes);
    let rate = rate::bits(served.bits_per_second);
    format!(
        "{client}: {messages} messages, {bytes} in {seconds:.2} s, {rate}, {late} late; {pings} pings; {sent_messages} sent; dropped: {drops}; {end}"
    )
}
