//! The task of a connection, which sends what engines have held, and lets them work when they are due.

use super::flow::Work;
use super::shared::PoliciesShared;
use bertha_chunnels::rpc;
use bertha_core::{Base, Connection, Error, ErrorKind, Runtime};
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The pause after an error below that has not ended the connection; it doubles with each further one, up to 128 times as long.
const PAUSE: Duration = Duration::from_millis(1);

/// Works until the connection below ends.
pub(super) async fn run<Inner: Connection<Data = rpc::Message>>(shared: Arc<PoliciesShared<Inner>>) {
    let (inner, flow) = (&shared.inner, &shared.flow);
    let runtime = inner.base().runtime();
    let mut errors = 0_u32;
    loop {
        match flow.work(shared.now()) {
            Work::Send => {
                let sent = inner.send_batch(std::iter::from_fn(|| flow.next())).await;
                errors = if sent.is_ok() { 0 } else { errors + 1 };
                flow.sent(sent, shared.now());
                if errors > 0 {
                    let pause = PAUSE * (1 << (errors - 1).min(7));
                    runtime.sleep_until(runtime.now() + pause).await;
                }
            }
            Work::WaitUntil(due) => {
                let to_do = pin!(flow.to_do.told());
                match due.and_then(|due| shared.at(due)) {
                    None => to_do.await,
                    Some(due) => {
                        select(to_do, pin!(runtime.sleep_until(due))).await;
                    }
                }
            }
            Work::End => return,
        }
    }
}

/// Ends a connection whose task ends: by an error below, or since the runtime has ended.
pub(super) struct Ending<Inner: Connection>(pub(super) Arc<PoliciesShared<Inner>>);

impl<Inner: Connection> Drop for Ending<Inner> {
    fn drop(&mut self) {
        let what = "the runtime of this connection has ended";
        self.0.flow.end(&Error::new(ErrorKind::Closed, what));
    }
}
