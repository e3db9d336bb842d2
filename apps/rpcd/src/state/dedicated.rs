//! Threads of services that operators keep apart from others.

use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::{io, thread};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

/// Maximum number of services with a thread of their own.
const MOST: usize = 64;

/// Number of bytes that the system keeps of a thread's name.
const LONGEST: usize = 15;

/// The services that have a thread of their own, which begins with the first party of its service, sleeps while all of them wait, and ends
/// with the daemon.
#[derive(Debug, Default)]
pub(crate) struct Dedicated(HashMap<String, Mutex<Place>>);

/// The place where the parties of such a service run.
#[derive(Debug)]
enum Place {
    /// There was no party yet.
    Unused,
    /// The service's thread.
    Own(Own),
    /// The threads of all services: the system gives no other, or the daemon has ended.
    Shared,
}

/// A thread, which ends with this.
#[derive(Debug)]
struct Own {
    runtime: Handle,
    _end: oneshot::Sender<Infallible>,
}

impl Dedicated {
    /// Gives each of these services a thread of its own.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for too many.
    pub(crate) fn new(services: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let services: HashMap<_, _> =
            services.into_iter().map(|service| (service, Mutex::new(Place::Unused))).collect();
        if services.len() > MOST {
            let what = format!("{MOST} services at most have a thread of their own");
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(Self(services))
    }

    /// Does the work of a party on the thread of its service, or else as a part of this future. The work ends early with the future.
    pub(crate) async fn run(&self, service: &str, work: impl Future<Output = ()> + Send + 'static) {
        let Some(runtime) = self.runtime(service) else { return work.await };
        let mut works = JoinSet::new();
        works.spawn_on(work, &runtime);
        // A panic ends this party alone, as it does on the threads of all services.
        let _ended = works.join_next().await;
    }

    /// Begins the work of a party on the thread of its service, or else on the threads of all.
    pub(crate) fn spawn(
        &self,
        service: &str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        match self.runtime(service) {
            Some(runtime) => runtime.spawn(work).abort_handle(),
            None => tokio::spawn(work).abort_handle(),
        }
    }

    /// Ends all threads, with the work on them.
    pub(crate) fn end(&self) {
        self.0.values().for_each(|place| *place.lock() = Place::Shared);
    }

    fn runtime(&self, service: &str) -> Option<Handle> {
        let mut place = self.0.get(service)?.lock();
        if let Place::Unused = *place {
            // The mappings that applications cannot take are enough for the threads of all these services.
            *place = Own::begin(service).map_or_else(
                |error| {
                    tracing::error!(service, %error, "the service has no thread of its own");
                    Place::Shared
                },
                Place::Own,
            );
        }
        match &*place {
            Place::Own(own) => Some(own.runtime.clone()),
            Place::Unused | Place::Shared => None,
        }
    }
}

impl Own {
    fn begin(service: &str) -> io::Result<Self> {
        // Names are looked up beside calls.
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
        let own = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name(name(service))
            .spawn(move || runtime.block_on(ended).map(|never| match never {}))?;
        Ok(Self { runtime: own, _end: end })
    }
}

/// Returns the name of a service's thread.
fn name(service: &str) -> String {
    let mut name = String::from("rpcd-");
    for char in service.chars().filter(|char| *char != '\0') {
        if name.len() + char.len_utf8() > LONGEST {
            break;
        }
        name.push(char);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn these(services: &[&str]) -> Dedicated {
        Dedicated::new(services.iter().map(|service| (*service).to_owned())).unwrap()
    }

    /// Returns the name of the thread that works for a service.
    async fn thread_of(dedicated: &Dedicated, service: &str) -> Option<String> {
        let (tell, told) = oneshot::channel();
        let work = async move { tell.send(thread::current().name().map(str::to_owned)).unwrap() };
        dedicated.run(service, work).await;
        told.await.unwrap()
    }

    #[tokio::test]
    async fn a_service_works_on_its_thread_until_all_end_and_others_where_they_are() {
        let dedicated = these(&["hotel", "a-service-of-a-long-name", "größe\0größe"]);
        let here = thread::current().name().map(str::to_owned);
        assert_eq!(thread_of(&dedicated, "hotel").await.unwrap(), "rpcd-hotel");
        assert_eq!(thread_of(&dedicated, "a-service-of-a-long-name").await.unwrap(), "rpcd-a-service-");
        assert_eq!(thread_of(&dedicated, "größe\0größe").await.unwrap(), "rpcd-größegr");
        assert_eq!(thread_of(&dedicated, "inn").await, here);
        dedicated.end();
        assert_eq!(thread_of(&dedicated, "hotel").await, here);
    }

    #[tokio::test]
    async fn work_ends_with_the_future_that_waits_for_it_and_with_its_thread() {
        for by_thread in [false, true] {
            let dedicated = Arc::new(these(&["hotel"]));
            let (tell, told) = oneshot::channel::<Infallible>();
            let ((begin, begun), other) = (oneshot::channel(), Arc::clone(&dedicated));
            let waiting = tokio::spawn(async move {
                let work = async move {
                    begin.send(()).unwrap();
                    std::future::pending::<()>().await;
                    drop(tell);
                };
                other.run("hotel", work).await;
            });
            begun.await.unwrap();
            if by_thread {
                dedicated.end()
            } else {
                waiting.abort()
            }
            assert!(told.await.is_err());
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let services = |count: usize| (0..count).map(|number| format!("service-{number}"));
        assert!(Dedicated::new(services(MOST).chain(services(MOST))).is_ok());
        let error = Dedicated::new(services(MOST + 1)).unwrap_err();
        assert!(error.to_string().contains("64 services at most"), "{error}");
    }
}
