//! The requests of an application, and their answers.

use crate::multi_endpoint::crowd::Crowd;
use bertha_chunnels::{Batch, Nothing, ReceiverOrdered};
use bertha_core::{Base, Buf, Connection, ErrorKind, Identity, make_stack, select};
use bertha_datapath_sim::Sim;
use bertha_negotiation::Pick;
use std::time::Duration;

/// Runs `play` with some seeds.
fn with_seeds(play: impl AsyncFn(Crowd)) {
    bertha_tests::with_seeds(30, |seed| {
        let mut sim = Sim::new(seed);
        let crowd = Crowd::new(sim.network().clone());
        sim.run(play(crowd));
    });
}

fn message(text: &str) -> Buf {
    Buf::copy_of(text.as_bytes(), 40).unwrap()
}

#[test]
fn an_upgrade_is_for_all_and_all_are_told() {
    with_seeds(async |crowd| {
        let stack = || make_stack!(select!(Nothing, Batch::new()));
        let one = crowd.join(1, stack()).await.unwrap();
        let two = crowd.join(2, stack()).await.unwrap();
        let before = two.explain();
        assert_eq!(before.chunnels().collect::<Vec<_>>().len(), 1);
        assert!(before.to_string().starts_with("Nothing"), "{before}");
        one.send(message("over nothing")).await.unwrap();
        assert_eq!(&*two.recv().await.unwrap(), b"over nothing");
        let listening = async {
            let last = two.recv().await.unwrap();
            assert_eq!(&*last, b"together");
        };
        let asking = async {
            let agreement = one.upgrade(Pick::alternative(1)).await.unwrap();
            assert!(agreement.to_string().starts_with("Batch"), "{agreement}");
            one.send(message("together")).await.unwrap();
        };
        let hearing = async {
            let agreement = two.changed(&before).await.unwrap();
            assert!(agreement.to_string().starts_with("Batch"), "{agreement}");
            assert_eq!(agreement.round(), two.explain().round());
        };
        // A task receives meanwhile, as an application does.
        let receiving = async {
            let mut receiving = std::pin::pin!(one.recv());
            let mut rest = std::pin::pin!(async { futures_util::join!(listening, asking, hearing) });
            futures_util::future::select(&mut receiving, &mut rest).await;
        };
        receiving.await;
        assert_eq!(one.participants().len(), 2);
        two.close().await.unwrap();
        assert_eq!(one.participants_other_than(2).await.unwrap(), 1);
        assert_eq!(two.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    });
}

/// A Chunnel that can't be built a second time.
#[derive(Debug, Identity)]
struct Stubborn;

impl<Inner: bertha_core::Carries<Buf, Self>> bertha_core::Chunnel<Inner> for Stubborn {
    type Connection = Inner;

    async fn connect_wrap(
        &self,
        _: Inner,
        _: bertha_core::ConnectContext<'_, Inner>,
    ) -> Result<Inner, bertha_core::Error> {
        Err(bertha_core::Error::new(ErrorKind::Unavailable, "out of order"))
    }
}

#[test]
fn a_refusal_comes_back_to_who_asked_and_changes_nothing() {
    with_seeds(async |crowd| {
        let one = crowd.join(1, make_stack!(select!(Nothing, Stubborn, Batch::new()))).await.unwrap();
        let two = crowd.join(2, make_stack!(select!(Nothing, Stubborn))).await.unwrap();
        let before = one.explain();
        for (pick, kind, text) in [
            (Pick::alternative(2), ErrorKind::Refused, "Batch"),
            (Pick::alternative(1), ErrorKind::Refused, "out of order"),
            (Pick::alternative(3), ErrorKind::Invalid, "no alternative 3"),
        ] {
            let error = one.upgrade(pick).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        }
        assert_eq!(one.upgrade(Pick::alternative(0)).await.unwrap().round(), before.round());
        two.send(message("still here")).await.unwrap();
        assert_eq!(&*one.recv().await.unwrap(), b"still here");
        assert_eq!(one.explain().round(), before.round());
    });
}

/// A stack that would wait for ever for a lost message may not join, and a group does not change to it.
#[test]
fn a_chunnel_that_lacks_what_it_needs_is_refused() {
    use bertha_chunnels::Ordered;
    with_seeds(async |crowd| {
        let error = crowd.join(1, make_stack!(Ordered::new())).await.unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Ordered")));

        let stack = || make_stack!(select!(Nothing, Ordered::new()));
        let one = crowd.join(1, stack()).await.unwrap();
        let two = crowd.join(2, stack()).await.unwrap();
        let error = one.upgrade(Pick::alternative(1)).await.unwrap_err();
        assert!(error.to_string().contains("what is below it has to be reliable"), "{error}");
        two.send(message("still here")).await.unwrap();
        assert_eq!(&*one.recv().await.unwrap(), b"still here");
    });
}

#[test]
fn many_changes_leave_room_in_messages() {
    with_seeds(async |crowd| {
        let stack = || make_stack!(select!(Batch::new(), Batch::new().bytes(600)));
        let one = crowd.enter(
            1,
            make_stack!(select!(bertha_chunnels::Ordered::new().skip_after(9), Nothing)),
            Duration::from_millis(1),
        );
        let _ = stack;
        let one = one.await;
        for turn in 1..200 {
            one.connection.upgrade(Pick::alternative(turn % 2)).await.unwrap();
        }
        let base = one.connection.base();
        assert!(bertha_core::Base::reserved(base) < 64, "{}", bertha_core::Base::reserved(base));
    });
}

#[test]
fn stacks_that_could_not_be_built_take_no_room_in_messages() {
    with_seeds(async |crowd| {
        let stack = || make_stack!(select!(Nothing, make_stack!(Stubborn, ReceiverOrdered::new())));
        let one = crowd.join(1, stack()).await.unwrap();
        let _two = crowd.join(2, stack()).await.unwrap();
        let before = one.base().reserved();
        for _ in 0..50 {
            assert_eq!(one.upgrade(Pick::alternative(1)).await.unwrap_err().kind(), ErrorKind::Refused);
            crowd.pause(Duration::from_millis(20)).await;
        }
        assert_eq!(one.base().reserved(), before);
    });
}
