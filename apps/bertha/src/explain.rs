//! `bertha explain`: the stack on which a client and a server would agree, and why.

use crate::output;
use crate::site::{Place, Site};
use bertha::core::Note;
use bertha::prelude::*;
use bertha::{Base, Datapath, Error};
use bertha_named::{OverDatapath, Side, Stack};
use bertha_program::escaped;
use clap::Args;
use serde::Serialize;

/// Connects to a server with a stack, and shows the agreement of the two ends, and its reasons. The
/// connection is closed at once.
///
/// The server may be any program whose stack carries bytes at the top.
#[derive(Debug, Args)]
#[command(after_help = format!("Chunnels: {}", Stack::known()))]
pub(crate) struct Explain {
    /// IP:PORT, HOST[:PORT] or unix:PATH.
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// The Chunnels, top first, with alternatives: `ordered,reliable,tls|checksum`. An empty text is a stack
    /// without Chunnels.
    #[arg(long, value_name = "STACK", default_value_t)]
    stack: Stack,
    /// Prints one JSON object.
    #[arg(long, short = 'J')]
    json: bool,
    #[command(flatten)]
    site: Site,
}

impl Explain {
    pub(crate) async fn execute(self) -> Result<(), Error> {
        let place = Place::find(&self.address).await?;
        self.site.transport().run(Explaining { explain: &self, place }).await
    }
}

struct Explaining<'a> {
    explain: &'a Explain,
    place: Place,
}

#[derive(Serialize)]
struct Printed {
    offered: String,
    chunnels: Vec<&'static str>,
    passed_over: String,
    notes: Vec<Noted>,
    authenticated: bool,
    peer: Option<String>,
    mtu: usize,
}

/// A note of a Chunnel of this end about the connection.
#[derive(Serialize)]
struct Noted {
    chunnel: &'static str,
    note: String,
}

impl OverDatapath for Explaining<'_> {
    type Output = ();

    async fn over<D: Datapath + Clone>(self, datapath: D) -> Result<(), Error> {
        let Self { explain, place } = self;
        let stack = explain.site.stack(&explain.stack, Side::Client { host: &place.host }, &datapath)?;
        let offered = stack.explain().to_string();
        let connecting = stack.connect(datapath, place.addr);
        let connecting = connecting.settings(explain.site.settings()).into_future();
        let connection = explain.site.in_time(connecting).await?;
        let agreement = connection.explain();
        let printed = Printed {
            offered,
            chunnels: agreement.chunnels().collect(),
            passed_over: escaped(agreement.reasons()),
            notes: agreement.notes().iter().map(Noted::of).collect(),
            authenticated: agreement.is_authenticated(),
            peer: agreement.peer().map(|peer| escaped(&peer.to_string())),
            mtu: connection.mtu().saturating_sub(connection.base().reserved()),
        };
        let shown = match explain.json {
            true => output::json(&printed),
            false => output::line(printed.lines()),
        };
        // The agreement is known; it does not change if the peer has gone meanwhile.
        let _ = connection.close().await;
        shown
    }
}

impl Printed {
    fn lines(&self) -> String {
        let agreed = match self.chunnels.as_slice() {
            [] => "no Chunnels".to_owned(),
            chunnels => chunnels.join(" / "),
        };
        let passed_over = match self.passed_over.as_str() {
            "" => "nothing: the first choice of both ends was possible",
            reasons => reasons,
        };
        let authenticated = match (self.authenticated, &self.peer) {
            (true, Some(peer)) => format!("yes, {peer}"),
            (true, None) => "yes".to_owned(),
            (false, _) => "no: whoever is on the way can bring about another agreement".to_owned(),
        };
        let Self { offered, mtu, .. } = self;
        let notes: String = self.notes.iter().map(Noted::line).collect();
        format!(
            "offered:          {offered}\nagreed:           {agreed}\npassed over:      {passed_over}\n{notes}authenticated:    {authenticated}\nlongest message:  {mtu} bytes"
        )
    }
}

impl Noted {
    fn of(note: &Note) -> Self {
        Self { chunnel: note.layer, note: escaped(&note.text) }
    }

    fn line(&self) -> String {
        format!("noted:            {}: {}\n", self.chunnel, self.note)
    }
}
