//! Gathering under the simulator's clock.

use super::{Nagle, NagleConnection};
use bertha_core::{Buf, Connection, ErrorKind, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair, pair_of};
use futures_util::future::{Either, select};
use futures_util::poll;
use std::pin::pin;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Returns a typed end with the Chunnel, and the plain other end.
async fn ends(
    runtime: &SimRuntime,
    nagle: Nagle,
) -> (NagleConnection<PairConnection<SimRuntime, u32>>, PairConnection<SimRuntime, u32>) {
    let (here, there) = pair_of::<_, u32>(runtime.clone());
    (make_stack!(nagle).wrap(here).await.unwrap(), there)
}

async fn sleep(runtime: &SimRuntime, pause: Duration) {
    runtime.sleep_until(runtime.now() + pause).await;
}

/// Runs the test with several orders of tasks.
fn play(check: impl AsyncFn(&SimRuntime)) {
    for seed in 0..20 {
        let mut sim = Sim::new(seed);
        let runtime = sim.runtime();
        sim.run(check(&runtime));
    }
}

#[test]
fn a_burst_waits_for_its_time_or_its_size() {
    play(async |runtime| {
        let (here, there) = ends(runtime, Nagle::new().messages(3).wait(10 * MS)).await;
        for number in 0..2 {
            here.send(number).await.unwrap();
        }
        sleep(runtime, 9 * MS).await;
        assert_eq!(here.inner().unreceived(), 0);
        sleep(runtime, 2 * MS).await;
        assert_eq!(here.inner().unreceived(), 2);
        for number in 2..6 {
            here.send(number).await.unwrap();
        }
        sleep(runtime, MS).await;
        assert_eq!(here.inner().unreceived(), 5);
        let mut burst = Vec::new();
        while burst.len() < 6 {
            there.recv_batch(&mut burst, 100).await.unwrap();
        }
        assert_eq!(burst, Vec::from_iter(0..6));
    });
}

#[test]
fn drain_and_close_send_what_waits() {
    play(async |runtime| {
        let (here, there) = ends(runtime, Nagle::new().wait(3600 * 1000 * MS)).await;
        here.send(1).await.unwrap();
        here.drain().await.unwrap();
        assert_eq!((here.inner().unreceived(), there.recv().await.unwrap()), (1, 1));
        here.send(2).await.unwrap();
        here.close().await.unwrap();
        assert_eq!(there.recv().await.unwrap(), 2);
        assert_eq!(here.send(3).await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    });
}

#[test]
fn an_error_that_a_burst_met_is_that_of_the_next_call() {
    play(async |runtime| {
        let (here, there) = pair(runtime.clone());
        let here = make_stack!(Nagle::new().wait(MS)).wrap(here).await.unwrap();
        let message = |len| Buf::new(len, 0).unwrap();
        here.send(message(1)).await.unwrap();
        here.send(message(1 << 20)).await.unwrap();
        here.send(message(2)).await.unwrap();
        sleep(runtime, 2 * MS).await;
        let error = here.send(message(3)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        // The error belongs to an earlier message; the next message is taken, and the others arrive.
        here.send(message(4)).await.unwrap();
        here.send(message(1 << 20)).await.unwrap();
        assert_eq!(here.drain().await.unwrap_err().kind(), ErrorKind::TooLarge);
        here.drain().await.unwrap();
        for len in [1, 2, 4] {
            assert_eq!(there.recv().await.unwrap().len(), len);
        }
        here.send(message(1 << 20)).await.unwrap();
        assert_eq!(here.close().await.unwrap_err().kind(), ErrorKind::TooLarge);
    });
}

#[test]
fn a_send_that_waits_for_room_can_be_dropped() {
    play(async |runtime| {
        let (here, there) = ends(runtime, Nagle::new().messages(1)).await;
        // There are more messages than the pair, a burst under way, and sixteen waiting bursts hold.
        let mut sent = 0;
        while let Either::Left((outcome, _)) = select(pin!(here.send(sent)), pin!(sleep(runtime, MS))).await {
            outcome.unwrap();
            sent += 1;
        }
        assert!(sent < 2000, "nothing is bounded");
        for number in 0..sent {
            assert_eq!(there.recv().await.unwrap(), number);
        }
        assert!(poll!(pin!(there.recv())).is_pending());
        here.send(sent).await.unwrap();
        assert_eq!(there.recv().await.unwrap(), sent);
    });
}

#[test]
fn what_was_received_in_one_burst_is_handed_out_one_by_one() {
    play(async |runtime| {
        let (here, there) = ends(runtime, Nagle::new().messages(4)).await;
        there.send_batch(0..6).await.unwrap();
        assert_eq!(here.recv().await.unwrap(), 0);
        assert_eq!(there.unreceived(), 2);
        let mut burst = Vec::new();
        assert_eq!(here.recv_batch(&mut burst, 2).await.unwrap(), 2);
        assert_eq!((burst, here.recv().await.unwrap(), here.recv().await.unwrap()), (vec![1, 2], 3, 4));
    });
}
