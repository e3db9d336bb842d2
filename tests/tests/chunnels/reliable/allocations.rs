//! A packet costs no allocation once buffers and queues have their size.

use bertha_allocations::{Counting, of_thread};
use bertha_chunnels::Reliable;
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_kernel::TokioRuntime;
use bertha_datapath_sim::pair;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Sends bursts in one direction and an answer to each burst, so that data, acknowledgements and grants all
/// take part.
async fn exchange(here: &impl Connection<Data = Buf>, there: &impl Connection<Data = Buf>, rounds: u32) {
    let mut burst = Vec::with_capacity(64);
    for _ in 0..rounds {
        let messages = (0..20).map(|number| Buf::copy_of(&[number; 900], 64).unwrap());
        let send = async { here.send_batch(messages).await.unwrap() };
        let receive = async {
            let mut left = 20;
            while left > 0 {
                left -= there.recv_batch(&mut burst, 64).await.unwrap();
                burst.clear();
            }
            there.send(Buf::copy_of(b"answer", 64).unwrap()).await.unwrap();
            here.recv().await.unwrap();
        };
        futures_util::join!(send, receive);
    }
}

#[test]
fn a_packet_costs_none() {
    // Both tasks run on one thread, so its count includes both.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (here, there) = pair(TokioRuntime);
        let stack = Reliable::new();
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        exchange(&here, &there, 500).await;
        let before = (of_thread(), here.statistics().packets_sent);
        exchange(&here, &there, 500).await;
        let packets = here.statistics().packets_sent - before.1;
        let allocations = of_thread() - before.0;
        assert!(packets > 5_000, "{packets} packets");
        // Queues double a few times, as the window grows or as a busy machine holds answers up. An allocation
        // for each burst would make a thousand.
        assert!(allocations <= 20, "{allocations} allocations for {packets} packets");
    });
}
