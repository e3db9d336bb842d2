//! The handshake of a client that waits for the answer.

use crate::handshake::{Handshake, Progress, Requirements, agreed_idle_timeout, check_picks, check_possible};
use crate::link::{Agreed, Link, Start};
use crate::shortage::Losses;
use crate::wire::{Answer, HEADER, split_joined};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Error, Node, Role, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

/// Agrees over `base` on a stack that describes itself as `nodes`.
///
/// # Errors
/// The refusal of the server, the reason why no answer came in time, or an error of the base.
pub(crate) async fn establish<C: Connection<Data = Buf>>(
    base: C,
    nodes: &[Node],
    settings: &Arc<Settings>,
) -> Result<(Link<C>, Answer, Arc<Session>), Error> {
    let runtime = base.base().runtime();
    let requirements = Requirements::new(settings.floor, base.base().properties());
    check_possible(nodes, requirements)?;
    let mtu = base.base().mtu();
    let now = runtime.now();
    let mut handshake = Handshake::new(nodes, requirements, || runtime.random(), mtu, now, settings)?;
    let mut early = VecDeque::new();
    let mut behind = None;
    let mut losses = Losses::default();
    let (answer, session, encoded) = loop {
        let due = handshake.poll_transmit(runtime.now()).map_err(|error| losses.explain(error))?;
        if let Some(offer) = due {
            losses.or_lost(base.send(Buf::copy_of(offer, 0)?).await)?;
        }
        let mut message = match behind.take() {
            Some(data) => data,
            None => {
                let deadline = pin!(runtime.sleep_until(handshake.poll_timeout()));
                let Either::Left((arrived, due)) = select(pin!(base.recv()), deadline).await else {
                    continue;
                };
                let Some(arrived) = losses.or_lost(arrived)? else {
                    due.await;
                    continue;
                };
                let (message, data) = split_joined(arrived);
                behind = data;
                message
            }
        };
        match handshake.handle(&message)? {
            Progress::Agreed(answer, session) => break (answer, session, message),
            Progress::Again => {}
            Progress::Early if early.len() < settings.early_messages => {
                message.advance(HEADER)?;
                early.push_back(message);
            }
            Progress::Early | Progress::Ignored => {
                tracing::debug!(target: "bertha::negotiation", len = message.len(), "dropped before the answer")
            }
        }
    };
    if let Some(mut data) = behind {
        data.advance(HEADER)?;
        early.push_back(data);
    }
    session.add_forged(handshake.forged());
    session.add_not_sent(losses.count());
    let encoded = if session.has_credentials() { encoded.to_vec() } else { Vec::new() };
    let offer = if session.has_credentials() { handshake.current().to_vec() } else { Vec::new() };
    let now = runtime.now();
    let link = Link::new(Start {
        base: Arc::new(base),
        id: handshake.id(),
        role: Role::Client,
        early,
        has_to_answer: false,
        session: session.clone(),
        agreed: Agreed::Client { offer, answer: encoded, confirm: answer.confirm, early: 0 },
        listener: None,
        address_challenge: None,
        settings: settings.clone(),
        idle_timeout: agreed_idle_timeout(settings.idle_timeout, answer.idle_ms),
        now,
    });
    if let Err(error) = check_picks(nodes, &answer.client_picks, requirements) {
        link.setup().failed(&error).await;
        return Err(error);
    }
    link.confirm().await;
    Ok((link, answer, session))
}
