//! Attempts to connect again, with pauses.

use bertha_core::backoff::Backoff;
use bertha_core::{Base, BoxFuture, Connection, Error, ErrorKind, Runtime};
use std::sync::Arc;

/// Maximum number of attempts after one loss.
const ATTEMPTS: u32 = 16;

type Attempts<C> = BoxFuture<'static, Result<C, Error>>;

/// Makes connections. An attempt under way outlives the call that began it.
pub(super) struct Connecting<C> {
    begin: Box<dyn Fn() -> Attempts<C> + Send + Sync>,
    under_way: Option<Attempts<C>>,
}

impl<C: Connection> Connecting<C> {
    pub(super) fn new<F, A>(connect: F, runtime: <C::Base as Base>::Runtime, backoff: Backoff) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<C, Error>> + Send + 'static,
    {
        let connect = Arc::new(connect);
        let begin = Box::new(move || -> Attempts<C> {
            let connect = connect.clone();
            let runtime = runtime.clone();
            let backoff = backoff.clone();
            Box::pin(attempts(connect, runtime, backoff))
        });
        Self { begin, under_way: None }
    }

    /// Returns a connection, or the error of the last attempt. Cancellation-safe: the next call goes on.
    pub(super) async fn run(&mut self) -> Result<C, Error> {
        let connected = self.under_way.get_or_insert_with(&self.begin).as_mut().await;
        self.under_way = None;
        connected
    }
}

async fn attempts<C, F, A>(connect: Arc<F>, runtime: impl Runtime, mut backoff: Backoff) -> Result<C, Error>
where
    F: Fn() -> A,
    A: Future<Output = Result<C, Error>>,
{
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match connect().await {
            Err(error) if left > 0 && may_help(error.kind()) => {
                let pause = backoff.pause(runtime.random());
                tracing::debug!(target: "bertha::negotiation", %error, ?pause, "no connection yet");
                runtime.sleep_until(runtime.now() + pause).await;
            }
            connected => return connected,
        }
    }
}

/// Returns true if another attempt may succeed after a failure of this kind.
fn may_help(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Refused
            | ErrorKind::Version
            | ErrorKind::Unauthenticated
            | ErrorKind::Unavailable
            | ErrorKind::Invalid
            | ErrorKind::TooLarge
    )
}
