//! The counters of a server's calls.

use super::{LENGTH, Lengths, MS, NEVER, PANICS, STREAM, UNLUCKY, call, signal};
use crate::rpc::message::Content;
use crate::rpc::{FailureKind, Message, ServeStatistics, ServedCalls, serve};
use bertha_core::Connection;
use bertha_core::Runtime;
use bertha_core::statistics::LayerStatistics;
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair_of};
use std::sync::atomic::Ordering::SeqCst;

/// Runs `test` with a client that makes its own messages, and the counters of its server with room for 40 calls.
fn with_counters(test: impl AsyncFn(&Lengths, PairConnection<SimRuntime, Message>, &ServedCalls)) {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair_of(runtime.clone());
        let (service, calls) = (Lengths::new(runtime.clone()), ServedCalls::default());
        let serving = serve(there, service.clone()).concurrency(40).counted_by(&calls).into_future();
        let _server = runtime.spawn(async move { serving.await.unwrap() });
        test(&service, here, &calls).await;
    });
}

async fn pause(service: &Lengths) {
    service.runtime.sleep_until(service.runtime.now() + MS).await;
}

fn expected(change: impl FnOnce(&mut ServeStatistics)) -> ServeStatistics {
    let mut expected = ServeStatistics::default();
    change(&mut expected);
    expected
}

#[test]
fn each_call_is_counted_by_its_outcome() {
    with_counters(async |service, client, calls| {
        client
            .send_batch([call(0, LENGTH, 5, 0), call(1, LENGTH, 5, 0), call(2, NEVER, 0, 0)].into_iter())
            .await
            .unwrap();
        pause(service).await;
        assert_eq!(calls.statistics(), expected(|it| (it.answered, it.under_way) = (2, 1)));

        // A deadline, panics at each place, a response that does not fit, a cancellation, and odd messages.
        let failing = [call(3, NEVER, 0, 1), call(4, LENGTH, 100_000, 0)];
        let panicking = (0..4).map(|at| call(5 + at, PANICS[at as usize], 0, 0));
        client.send_batch(failing.into_iter().chain(panicking)).await.unwrap();
        client
            .send_batch([signal(2, Content::Cancel), signal(9, Content::End { parts: 0 })].into_iter())
            .await
            .unwrap();
        pause(service).await;
        pause(service).await;
        let failed = vec![(FailureKind::Failed, 4), (FailureKind::TimedOut, 1), (FailureKind::TooLarge, 1)];
        let told = expected(|it| {
            (it.answered, it.cancelled, it.unexpected) = (2, 1, 1);
            it.failed = failed;
        });
        assert_eq!(calls.statistics(), told);
        assert_eq!(told.values().last().unwrap().0, "failed_too_large");

        // As many calls as may be, and three more; then the client goes.
        client.send_batch((100..143).map(|slot| call(slot, NEVER, 0, 0))).await.unwrap();
        pause(service).await;
        assert_eq!((calls.statistics().under_way, calls.statistics().refused), (40, 3));
        client.close().await.unwrap();
        pause(service).await;
        let left = calls.statistics();
        assert_eq!((left.under_way, left.abandoned, left.answered), (0, 40, 2));
    });
}

#[test]
fn streams_and_answers_that_nobody_reads_are_told_while_they_last() {
    with_counters(async |service, client, calls| {
        client.send_batch((0..30).map(|slot| call(slot, STREAM, 100, 0))).await.unwrap();
        pause(service).await;
        let told = calls.statistics();
        assert_eq!((told.under_way, told.streams), (30, 30));
        assert!(told.to_send_answers > 0 && told.to_send_bytes == 100 * told.to_send_answers, "{told:?}");
        client.send_batch((0..30).map(|slot| signal(slot, Content::Cancel))).await.unwrap();
        pause(service).await;
        assert_eq!((calls.statistics().streams, calls.statistics().cancelled), (0, 30));
        while calls.statistics().to_send_answers > 0 {
            client.recv().await.unwrap();
            pause(service).await;
        }
        assert_eq!(calls.statistics().to_send_bytes, 0);
    });
}

/// The client of a failed stream cancels nothing.
#[test]
fn a_stream_whose_response_has_no_encoding_keeps_no_place() {
    with_counters(async |service, client, calls| {
        client.send(call(0, STREAM, UNLUCKY as u32, 0)).await.unwrap();
        pause(service).await;
        let told = calls.statistics();
        assert_eq!((told.under_way, told.streams, &told.failed[..]), (0, 0, &[(FailureKind::Failed, 1)][..]));
        assert_eq!(service.made.load(SeqCst), 1);
    });
}

/// A handler ends with its cancellation, and keeps its place until then: repeated cancellations have no more of them at a
/// time than calls.
#[test]
fn cancelled_calls_leave_no_handlers() {
    with_counters(async |service, client, calls| {
        for round in 0..100 {
            let slots = || 40 * round..40 * (round + 1);
            client.send_batch(slots().map(|slot| call(slot, NEVER, 0, 0))).await.unwrap();
            client.send_batch(slots().map(|slot| signal(slot, Content::Cancel))).await.unwrap();
        }
        pause(service).await;
        assert_eq!(calls.statistics(), expected(|it| it.cancelled = 4_000));
        let (running, most) = (service.running.load(SeqCst), service.most.load(SeqCst));
        assert_eq!((running, most), (0, 40));
    });
}
