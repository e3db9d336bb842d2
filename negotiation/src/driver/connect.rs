//! The client.

use super::open::Reach;
use crate::handshake::{Frame, Handshake, Progress, agreed_idle_timeout, check_picks, check_possible};
use crate::link::{Agreed, Start};
use crate::negotiated::Standing;
use crate::shortage::or_lost;
use crate::wire::{Answer, HEADER, parted};
use crate::{Agreement, Link, Negotiated, Runs, Session, Settings};
use bertha_core::{Addr, Base, Buf, ConnectContext, Connection, Describe, Error, Node, Picks, Role, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

/// Connects, agrees and builds the stack.
pub(crate) async fn connect<S, D>(
    stack: &S,
    datapath: D,
    to: Addr,
    settings: Settings,
) -> Result<Negotiated<D::Out>, Error>
where
    S: Describe + Sync + ?Sized,
    D: Runs<S>,
{
    let (nodes, settings) = (stack.nodes(), Arc::new(settings));
    let (link, answer, session) = agree(datapath.connect(to).await?, &nodes, &settings).await?;
    let (dropped, setup) = (link.dropped(), link.setup());
    let agreement = Agreement::new(Role::Client, &nodes, answer, session.clone());
    let (picks, transcript) = (agreement.picks().to_vec(), agreement.binding());
    let (standing, reach) = (Standing::new(agreement), Arc::new(Reach { datapath, settings }));
    link.stand(standing.clone(), reach.clone());
    let context = ConnectContext::new(&*reach, Role::Client).with_transcript(transcript);
    let connection = match D::instantiate(stack, link, Picks::new(&picks), context).await {
        Ok(connection) => connection,
        Err(error) => {
            setup.failed(&error).await;
            return Err(error);
        }
    };
    setup.done();
    tracing::debug!(agreement = %standing.get(), "connected");
    Ok(Negotiated::new(connection, (standing, session), dropped))
}

/// Agrees over `base` on a stack that describes itself as `nodes`.
pub(super) async fn agree<C: Connection<Data = Buf>>(
    base: C,
    nodes: &[Node],
    settings: &Arc<Settings>,
) -> Result<(Link<C>, Answer, Arc<Session>), Error> {
    let runtime = base.base().runtime();
    let frame = Frame::new(settings.floor, base.base().properties());
    check_possible(nodes, frame)?;
    let (mtu, now) = (base.base().mtu(), runtime.now());
    let mut handshake = Handshake::new(nodes, frame, || runtime.random(), mtu, now, settings)?;
    let (mut early, mut behind) = (VecDeque::new(), None);
    let (answer, session, encoded) = loop {
        if let Some(offer) = handshake.poll_transmit(runtime.now())? {
            or_lost(base.send(Buf::copy_of(offer, 0)?).await)?;
        }
        let mut message = match behind.take() {
            Some(data) => data,
            None => {
                let deadline = pin!(runtime.sleep_until(handshake.poll_timeout()));
                let Either::Left((arrived, due)) = select(pin!(base.recv()), deadline).await else {
                    continue;
                };
                let Some(arrived) = or_lost(arrived)? else {
                    due.await;
                    continue;
                };
                let (message, data) = parted(arrived);
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
                tracing::debug!(len = message.len(), "dropped before the answer")
            }
        }
    };
    if let Some(mut data) = behind {
        data.advance(HEADER)?;
        early.push_back(data);
    }
    session.add_forged(handshake.forged());
    let encoded = if session.is_authenticated() { encoded.to_vec() } else { Vec::new() };
    let now = runtime.now();
    let link = Link::new(Start {
        base: Arc::new(base),
        id: handshake.id(),
        role: Role::Client,
        early,
        has_to_answer: false,
        session: session.clone(),
        agreed: Agreed::Client { answer: encoded, confirm: answer.confirm, early: 0 },
        listener: None,
        unproven: None,
        settings: settings.clone(),
        idle_timeout: agreed_idle_timeout(settings.idle_timeout, answer.idle_ms),
        now,
    });
    if let Err(error) = check_picks(nodes, &answer.client_picks, frame) {
        link.setup().failed(&error).await;
        return Err(error);
    }
    link.confirm().await;
    Ok((link, answer, session))
}
