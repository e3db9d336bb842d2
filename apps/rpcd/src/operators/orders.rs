//! The socket at which operators give orders.

use crate::admission::not_taken_counts::{Door, Reason};
use crate::destinations::route_list::Routes;
use crate::doors::lobby::Visitor;
use crate::operators::operator::Operator;
use crate::parties::reserved_names;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::Users;
use bertha_managed::{Change, Order};
use bertha_runtime::tokio::Credentials;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Time for an order and its answer.
const WITHIN: Duration = Duration::from_secs(5);

/// Reads an order, and answers it.
pub(crate) async fn serve(socket: UnixStream, visitor: &Visitor, operator: &Operator) {
    let counts = &operator.state.not_taken.counts;
    let answered = tokio::select! {
        answered = timeout(WITHIN, answer(socket, visitor, operator)) => answered,
        () = visitor.given_up() => Ok(Err(Error::new(ErrorKind::Exhausted, "a newcomer has its place"))),
    };
    match answered {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            counts.add(Door::Orders, Reason::of(&error));
            tracing::info!(%error, "an operator is not served");
        }
        Err(_) => {
            counts.add(Door::Orders, Reason::Silent);
            tracing::info!("an operator said nothing");
        }
    }
}

async fn answer(mut socket: UnixStream, visitor: &Visitor, operator: &Operator) -> Result<(), Error> {
    let peer = Credentials::of_peer(&socket)?;
    let result = if Users::Same.contain(peer.user) {
        let (mut line, mut reader) = (String::new(), BufReader::new(&mut socket));
        (&mut reader).take(Order::LONGEST as u64).read_line(&mut line).await?;
        visitor.leave();
        match line.strip_suffix('\n') {
            Some(line) => obey(line, &mut reader, operator).await,
            None => Err(wrong("an order is a line of at most 64 KiB, with an end")),
        }
    } else {
        operator.state.not_taken.counts.add(Door::Orders, Reason::Refused);
        Err(Error::new(ErrorKind::Refused, format!("user {} is no operator of this daemon", peer.user)))
    };
    let text = match result {
        Ok(text) => format!("done\n{text}"),
        Err(error) => format!("refused\n{error}\n"),
    };
    socket.write_all(text.as_bytes()).await?;
    socket.shutdown().await?;
    Ok(())
}

/// Does what an order says. What follows its line is read from behind it.
async fn obey(
    line: &str,
    behind: &mut (impl AsyncRead + Unpin),
    operator: &Operator,
) -> Result<String, Error> {
    let (service, change) = match Order::read(line).map_err(wrong)? {
        Order::List => return Ok(operator.list()),
        Order::Bind { bytes } => {
            let mut descriptors = vec![0; bytes as usize];
            behind.read_exact(&mut descriptors).await?;
            let bound = operator.bind(descriptors).await?;
            tracing::info!(bound, "an operator bound a schema");
            return Ok(bound);
        }
        Order::Route { service, to } => {
            reserved_names::check_name("a service", &service)?;
            let to = (!to.is_empty()).then(|| to.parse::<Routes>()).transpose()?;
            to.iter().flat_map(Routes::iter).try_for_each(|to| operator.state.servers.check(to))?;
            operator.lead(&service, to);
            return Ok(String::new());
        }
        Order::Send { service, by } => {
            reserved_names::check_name("a service", &service)?;
            operator.send_by(&service, by.parse()?);
            tracing::info!(service, by, "an operator changed the way of large rows");
            return Ok(String::new());
        }
        Order::Load { path } => {
            operator.load(Path::new(&path)).await?;
            tracing::info!(path, "an operator loaded a library");
            return Ok(String::new());
        }
        Order::Unload { kind } => {
            operator.unload(&kind)?;
            tracing::info!(kind, "an operator unloaded a kind of engine");
            return Ok(String::new());
        }
        Order::Add { service, name, kind, settings } => {
            let (kind, settings) = (operator.kind(&kind)?, settings.parse().map_err(wrong)?);
            (service, Change::Add { name, kind, settings })
        }
        Order::Upgrade { service, name, kind } => {
            (service, Change::Upgrade { name, kind: operator.kind(&kind)? })
        }
        Order::Configure { service, name, settings } => {
            (service, Change::Configure { name, settings: settings.parse().map_err(wrong)? })
        }
        Order::Remove { service, name } => (service, Change::Remove { name }),
    };
    operator.change(&service, &change).map_err(wrong)?;
    tracing::info!(service, ?change, "an operator changed engines");
    Ok(String::new())
}

fn wrong(reason: impl ToString) -> Error {
    Error::new(ErrorKind::Invalid, reason.to_string())
}
