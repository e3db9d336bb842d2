//! A client and the messages of its server.

use super::*;
use crate::rpc::Client;
use crate::rpc::message::Content;
use bertha_datapath_sim::{Sim, pair_of};

#[test]
fn a_call_that_is_refused_again_and_again_is_made_ever_more_rarely() {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair_of::<_, Message>(runtime.clone());
        let client = Client::over(Multiplexer::new(here));
        let mut calls = 0;
        let refusing = async {
            loop {
                let call = there.recv().await.unwrap().call;
                calls += 1;
                there.send(Message::signal(call, Content::Full { calls: 1 })).await.unwrap();
            }
        };
        let answer = async {
            client
                .call::<u8, u8>(Method::new("refused"), &1)
                .deadline(Duration::from_secs(1))
                .response()
                .await
        };
        let answered = match select(pin!(answer), pin!(refusing)).await {
            Either::Left((answered, _)) => answered,
            Either::Right(((), _)) => unreachable!("it refuses for ever"),
        };
        assert_eq!(answered.unwrap_err().kind(), FailureKind::TimedOut);
        assert!((8..=20).contains(&calls), "{calls} calls in a second");
    });
}
