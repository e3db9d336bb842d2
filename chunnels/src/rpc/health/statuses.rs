//! The statuses of services, which clients watch.

use super::protocol::{Health, ServingStatus};
use crate::rpc::Shutdown;
use futures_util::future::select;
use futures_util::{Stream, stream};
use std::collections::HashMap;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::watch::Sender;

/// The statuses by name. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Statuses {
    by_name: Arc<Sender<HashMap<String, ServingStatus>>>,
    shutdown: Option<Shutdown>,
}

impl Statuses {
    pub(super) fn new() -> Self {
        let of_server = HashMap::from([(String::new(), ServingStatus::Serving)]);
        Self { by_name: Arc::new(Sender::new(of_server)), shutdown: None }
    }

    pub(super) fn until(self, shutdown: &Shutdown) -> Self {
        Self { shutdown: Some(shutdown.clone()), ..self }
    }

    pub(super) fn set(&self, service: &str, status: ServingStatus) {
        self.by_name.send_modify(|statuses| {
            statuses.insert(service.to_owned(), status);
        });
    }

    fn has_ended(&self) -> bool {
        self.shutdown.as_ref().is_some_and(Shutdown::has_begun)
    }

    fn of(&self, service: &str) -> ServingStatus {
        match self.by_name.borrow().get(service) {
            None => ServingStatus::Unknown,
            Some(_) if self.has_ended() => ServingStatus::NotServing,
            Some(status) => *status,
        }
    }
}

impl Health for Statuses {
    async fn check(&self, service: String) -> ServingStatus {
        self.of(&service)
    }

    fn watch(&self, service: String) -> impl Stream<Item = ServingStatus> {
        let (changes, statuses) = (self.by_name.subscribe(), self.clone());
        let shutdown = self.shutdown.as_ref().map(Shutdown::watched);
        let state = (changes, shutdown, None);
        stream::unfold(state, move |(mut changes, mut shutdown, told)| {
            let (statuses, service) = (statuses.clone(), service.clone());
            async move {
                loop {
                    changes.mark_unchanged();
                    let has_ended = statuses.has_ended();
                    let status = statuses.of(&service);
                    if told != Some(status) {
                        return Some((status, (changes, shutdown, Some(status))));
                    }
                    if has_ended {
                        return None;
                    }
                    let begun = async {
                        match &mut shutdown {
                            Some(shutdown) => {
                                shutdown.begun().await;
                            }
                            None => pending().await,
                        }
                    };
                    select(pin!(changes.changed()), pin!(begun)).await;
                }
            }
        })
    }
}
