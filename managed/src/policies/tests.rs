//! The flow of calls through engines, without a connection.

use super::flow::{Flow, Work};
use super::held_bytes::HeldBytes;
use super::methods::Methods;
use super::state::State;
use super::statistics::PoliciesStatistics;
use super::under_way::UnderWay;
use crate::described::binding;
use crate::engines::RateLimit;
use crate::{Chain, Signal};
use bertha_chunnels::rpc;
use bertha_core::statistics::Observed;
use bertha_core::{Buf, DropCounter, Statistics};
use std::sync::Arc;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn flow() -> Flow {
    let binding = binding();
    let methods = Methods::of(&binding.schema, &binding.plan, "hotel.Hotel").unwrap();
    let plan = Arc::clone(&binding.plan);
    let calls = UnderWay::new(9, Arc::new(methods), plan, HeldBytes::new(1 << 20), true);
    Flow::new(State::new(Chain::new(binding), calls, DropCounter::default()), Arc::new(Signal::default()))
}

fn message(kind: u8, slot: u8) -> rpc::Message {
    let mut bytes = vec![kind, slot, 0, 0, 0, 0, 0, 0];
    bytes.extend(rpc::Method::new("Hotel.ping").id().to_le_bytes());
    bytes.extend([0; 4]);
    rpc::Message::decode(Buf::copy_of(&bytes, 0).unwrap()).unwrap()
}

fn call(slot: u8) -> rpc::Message {
    message(1, slot)
}

fn response(slot: u8) -> rpc::Message {
    message(2, slot)
}

fn state(flow: &Flow) -> PoliciesStatistics {
    let mut statistics = Statistics::default();
    flow.observe(&mut statistics);
    *statistics.get().unwrap()
}

#[test]
fn a_call_is_under_way_until_its_outcome() {
    let flow = flow();
    assert!(flow.outgoing(call(0), NOW).is_some() && flow.outgoing(call(1), NOW).is_some());
    assert_eq!(state(&flow).under_way, 2);
    flow.incoming(response(0), NOW);
    assert!(flow.receive().is_some_and(|message| message.call().slot() == 0));
    assert_eq!(state(&flow).under_way, 1);
}

#[test]
fn a_call_goes_behind_those_that_are_sent_after_they_were_held() {
    let flow = flow();
    let limit = "per-second=1 burst=1".parse().unwrap();
    flow.change(|chain| chain.add(0, "limit", Arc::new(RateLimit), limit)).unwrap();
    assert!(flow.outgoing(call(0), NOW).is_some() && flow.outgoing(call(1), NOW).is_none());
    assert_eq!((state(&flow).held, state(&flow).held_bytes), (1, 0));
    flow.change(|chain| chain.remove("limit")).unwrap();
    assert!(matches!(flow.work(NOW), Work::Send));
    assert!(flow.next().is_some_and(|message| message.call().slot() == 1));
    // The task has not sent it yet.
    assert!(flow.outgoing(call(2), NOW).is_none());
    assert!(flow.next().is_some_and(|message| message.call().slot() == 2));
    assert!(flow.next().is_none());
    flow.sent(Ok(()), NOW);
    assert!(flow.outgoing(call(3), NOW).is_some());
}
