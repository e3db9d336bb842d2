//! Spans of calls in the log.

use crate::protobuf::policies;
use crate::scene::{MS, Scene, play};
use bertha_managed::engines::{Acl, Trace};
use futures_util::future::select;
use parking_lot::Mutex;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The caller, method and status of each span that the log has.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<[String; 3]>>>);

/// The values of a span.
#[derive(Default)]
struct Told([String; 3]);

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let place = ["caller", "method", "status"].iter().position(|name| *name == field.name());
        if let Some(place) = place {
            self.0[place] = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "bertha::rpc"
    }

    fn event(&self, event: &Event<'_>) {
        let mut told = Told::default();
        event.record(&mut told);
        self.0.lock().push(told.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn the_log_tells_of_one_in_so_many_calls_with_its_outcome() {
    let log = Log::default();
    let told = Arc::clone(&log.0);
    let test = || {
        play(async |runtime, side| {
            let with = policies().engine("trace", Trace::default(), "sample=2").unwrap();
            let with = with.engine("acl", Acl, "field=customer deny=Eve").unwrap();
            let scene = Scene::new(runtime, side, &with).await;
            for customer in ["Bob", "Ada", "Ada", "Eve", "Eve"] {
                let _outcome = scene.reserve(customer).await;
            }
            {
                let given_up = pin!(scene.reserve("slow"));
                select(given_up, pin!(scene.pass(10 * MS))).await;
            }
            scene.pass(MS).await;
            let spans = std::mem::take(&mut *told.lock());
            let statuses = ["ok", "denied", "cancelled"];
            assert_eq!(spans, statuses.map(|status| ["desk", "hotel.Hotel/Reserve", status]));
            assert_eq!(scene.reached(), ["Bob", "Ada", "Ada", "slow"]);
        });
    };
    tracing::subscriber::with_default(log, test);
}
