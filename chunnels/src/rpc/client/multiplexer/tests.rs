//! A client and the messages of its server.

use super::*;
use crate::rpc::Client;
use crate::rpc::message::Content;
use bertha_core::Buf;
use bertha_datapath_sim::{Sim, pair_of};

/// The length of a response.
const LENGTH: usize = 1_000;

fn part(call: CallId, index: u32) -> Message {
    let body = Some(Buf::copy_of(&[0; LENGTH], 64).unwrap());
    Message { body, ..Message::signal(call, Content::Part { index }) }
}

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

#[test]
fn clients_share_the_bytes_of_responses_that_may_wait() {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let waiting = WaitingBytes::new(2 * LENGTH);
        let [(one, there), (other, elsewhere)] = [(); 2].map(|()| {
            let (here, there) = pair_of::<_, Message>(runtime.clone());
            (Client::over(Multiplexer::new(here).waiting_with(&waiting)), there)
        });
        let stream = Method::new("stream");
        let within = one.call::<u8, u8>(stream, &1).responses().await.unwrap();
        let mut beyond = other.call::<u8, u8>(stream, &1).responses().await.unwrap();
        for server in [&there, &elsewhere] {
            let call = server.recv().await.unwrap().call;
            for index in 0..2 {
                server.send(part(call, index)).await.unwrap();
            }
            runtime.sleep_until(runtime.now() + Duration::from_millis(1)).await;
        }
        assert_eq!(waiting.bytes(), 2 * LENGTH);
        let failure = beyond.next().await.unwrap().unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Overloaded, "{failure}");
        assert_eq!(elsewhere.recv().await.unwrap().content, Content::Cancel);
        drop(within);
        assert_eq!(waiting.bytes(), 0);
    });
}
