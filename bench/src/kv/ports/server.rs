//! The serving loop.

use super::{SERVER, datagram, send};
use crate::Error;
use crate::kv::codec::{Format, Postcard};
use bertha_datapath_dpdk::{Burst, Port};
use bertha_kvstore::Store;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Answers requests until the run is over. A datagram that is not a message gets no answer.
pub(super) fn serve(port: &mut Port, over: &AtomicBool) -> Result<(), Error> {
    port.enter_thread();
    let mut store = Store::default();
    let (mut arrived, mut leaving) = (Burst::new(), Burst::new());
    while !over.load(Relaxed) {
        port.receive(&mut arrived);
        while let Some(mut packet) = arrived.pop() {
            let Some(request) = SERVER.open(packet.bytes_mut()) else { continue };
            let Ok(mut message) = Postcard::decode(request.payload) else { continue };
            let headers = SERVER.answer(&request.request);
            store.answer(&mut message);
            let pushed = leaving.push(datagram(packet.into_buf(), headers, &message)?);
            debug_assert!(pushed.is_ok(), "no more leave than have arrived");
        }
        send(port, &mut leaving);
    }
    Ok(())
}
