//! The client.

use crate::handshake::CurrentAgreement;
use crate::link::{LinkConnector, establish};
use crate::{Agreement, Negotiated, Runs, Settings};
use bertha_core::{Addr, ConnectContext, Describe, Error, Picks, Role};
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
    let (link, answer, session) = establish(datapath.connect(to).await?, &nodes, &settings).await?;
    let (dropped, setup) = (link.dropped(), link.setup());
    let agreement = Agreement::new(Role::Client, &nodes, answer, session.clone());
    let (picks, transcript) = (agreement.picks().to_vec(), agreement.binding());
    let (current_agreement, connector) =
        (CurrentAgreement::new(agreement), Arc::new(LinkConnector { datapath, settings }));
    link.stand(current_agreement.clone(), connector.clone());
    let context = ConnectContext::new(&*connector, Role::Client).with_transcript(transcript);
    let connection = match D::instantiate(stack, link, Picks::new(&picks), context).await {
        Ok(connection) => connection,
        Err(error) => {
            setup.failed(&error).await;
            return Err(error);
        }
    };
    setup.done();
    tracing::debug!(agreement = %current_agreement.get(), "connected");
    Ok(Negotiated::new(connection, (current_agreement, session), dropped))
}
