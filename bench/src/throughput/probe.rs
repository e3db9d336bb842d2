//! Transfers whose instructions are counted.

use super::bertha::{Ends, listen, measure, message, serve, transport};
#[cfg(feature = "tls")]
use super::tls;
use super::{CHUNK, Setup, file, memory};
use crate::Error;
use crate::harness::{ETHERNET, checksums, runtime};
use bertha_chunnels::{Noise, Nothing};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Runs};

/// Moves this number of messages of 64 KiB in a single thread, if there is a probe with this name.
pub(crate) fn probe(name: &str, messages: u64) -> Option<Result<(), Error>> {
    let setup = Setup { connections: 1, bytes: messages as usize * CHUNK, datagram: ETHERNET };
    let header = bertha_chunnels::noise::wire::HEADER;
    let transport = |below| transport(&setup, below, make_stack!());
    match name {
        "udp" => Some(on_one_thread(&setup, 0, transport(0))),
        "udp-nothing" => Some(on_one_thread(&setup, 0, make_stack!(Nothing, transport(0)))),
        "udp-noise" => {
            Some(on_one_thread(&setup, header, make_stack!(transport(header), Noise::shared(&[7; 32]))))
        }
        "crc" => {
            let packet = [1; ETHERNET];
            checksums((0..setup.bytes / ETHERNET).map(|_| &packet[..]));
            Some(Ok(()))
        }
        #[cfg(feature = "tls")]
        "tls" => Some(tls::bertha_on_one_thread(&setup)),
        #[cfg(feature = "tls")]
        "tokio-rustls" => Some(tls::by_hand_on_one_thread(&setup)),
        "memory" => Some(memory::plain(messages as usize)),
        "memory-checked" => Some(memory::above_a_check(messages as usize)),
        "memory-nothing" => Some(memory::with_nothing(messages as usize)),
        _ => None,
    }
}

fn on_one_thread<S>(setup: &Setup, below: usize, stack: S) -> Result<(), Error>
where
    S: Negotiate + Clone + Send + Sync + 'static,
    Udp: Runs<S, Out: Connection<Data = Buf>>,
{
    let file = file(setup);
    runtime()?.block_on(async {
        let ends = Ends::loopback();
        let incoming = listen(stack.clone(), &ends).await?;
        let server = incoming.local_addr();
        let serving = serve(incoming, 1, file, message(setup, below));
        let measuring = measure(&stack, &ends.client, server, setup);
        let (served, measured) = futures_util::join!(serving, measuring);
        served.and(measured.map(drop))
    })
}
