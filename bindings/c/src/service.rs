//! A service, whose calls are taken by threads with a callback, or by threads that accept them.

use crate::arrived::Arrived;
use crate::code::Code;
use crate::failure::Failure;
use crate::readiness::Readiness;
use crate::source::{Filling, Source};
use crate::wait::{Limit, wait};
use bertha::Addr;
use bertha::rpc::{self, FailureKind};
use bertha_named::{AnyServer, ServerEnd, Serving, Transport};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The time of calls under way at the end of a service that waits without limit.
const LONG: Duration = Duration::from_secs(86_400);

/// The way in which C gets calls.
pub(crate) type Callback = Arc<dyn Fn(Arc<Arrived>) + Send + Sync>;

/// A service.
pub(crate) struct Service {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    address: Addr,
    end: ServerEnd,
    calls: Source<Arc<Arrived>>,
    /// Has a receiver in each thread with a callback, and in the task that takes calls.
    running: watch::Sender<()>,
}

thread_local! {
    /// The service whose callback runs in this thread.
    static WITHIN: Cell<*const Service> = const { Cell::new(std::ptr::null()) };
}

impl Service {
    /// Begins to serve methods of these numbers.
    ///
    /// # Errors
    /// Errors of listening; [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if the system gives no threads.
    pub(crate) fn begin(
        over: Transport,
        serving: Serving,
        methods: HashMap<u32, usize>,
        callback: Option<(Callback, u32)>,
    ) -> Result<Arc<Self>, Failure> {
        let (released, readiness) = (CancellationToken::new(), Arc::<Readiness>::default());
        let server = async { over.run(serving).await.map_err(Failure::from) };
        let server = wait(Limit::Never, &released, server)?;
        let (address, end) = (server.local_address().clone(), server.server_end());
        let (running, is_running) = watch::channel(());
        let calls = Source::begin(&released, &readiness, |calls| async move {
            let _running = is_running;
            take(server, methods, calls).await
        })?;
        let service = Arc::new(Self { released, readiness, address, end, calls, running });
        let (callback, threads) = callback.unzip();
        for _ in 0..threads.unwrap_or(0) {
            let (answering, callback) = (service.clone(), callback.clone());
            let running = service.running.subscribe();
            let thread = thread::Builder::new().name("bertha-callback".into());
            let begun = thread.spawn(move || {
                let _running = running;
                callback.into_iter().for_each(|callback| answering.answer(&callback));
            });
            if let Err(error) = begun {
                service.release();
                let text = format!("the system gives no thread for callbacks: {error}");
                return Err(Failure::new(Code::BERTHA_EXHAUSTED, text));
            }
        }
        Ok(service)
    }

    /// Answers calls until the service ends.
    fn answer(&self, callback: &Callback) {
        WITHIN.set(self);
        while let Ok(call) = self.next(Limit::Never) {
            callback(call);
        }
    }

    /// Waits for a call that its client waits for.
    ///
    /// # Errors
    /// [`Failure::END`] once the service has ended; [`Failure::LATE`]; [`Failure::RELEASED`].
    pub(crate) fn next(&self, limit: Limit) -> Result<Arc<Arrived>, Failure> {
        loop {
            let call = self.calls.next(limit)?;
            if !call.call.is_cancelled() {
                return Ok(call);
            }
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Lets the calls under way come to their ends, and waits for it and for the callbacks.
    ///
    /// # Errors
    /// [`Failure::LATE`] while callbacks run; [`BERTHA_INVALID`](Code::BERTHA_INVALID) in a callback, which would wait for itself.
    pub(crate) fn close(&self, limit: Limit, within: Option<Duration>) -> Result<(), Failure> {
        if std::ptr::eq(WITHIN.get(), self) {
            let text =
                "a callback of the service would wait for its own end; close the service in another thread";
            return Err(Failure::new(Code::BERTHA_INVALID, text));
        }
        self.end.begin(within.unwrap_or(LONG));
        wait(limit, &self.released, async {
            self.running.closed().await;
            Ok(())
        })
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Ends the service at once. Callbacks that run go on.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

/// Takes calls of known methods until the service ends.
async fn take(mut server: AnyServer, methods: HashMap<u32, usize>, calls: Filling<Arc<Arrived>>) -> Failure {
    while let Some(call) = server.next().await {
        let Some(method) = methods.get(&call.method()) else {
            let unknown = rpc::Failure::of(FailureKind::UnknownMethod, "the service has no such method");
            call.fail(unknown.before_running());
            continue;
        };
        calls.has_room().await;
        calls.push(Arrived::new(call, *method));
    }
    Failure::END
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("address", &self.address).finish_non_exhaustive()
    }
}
