//! The cost of a message in the link below every negotiated stack, and in serialisation. The cost of the bare
//! connection in memory stands beside both, to be subtracted.

use crate::memory::{End, negotiated, runtime};
use bertha_chunnels::serialize::Codec;
use bertha_chunnels::{Bincode, Postcard, Serialize};
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_kernel::TokioRuntime;
use bertha_datapath_sim::pair;
use criterion::{Criterion, Throughput};
use futures_util::FutureExt;
use std::hint::black_box;

type Record = (u64, String, Vec<u8>);

const BURST: usize = 32;

pub(crate) fn all(criterion: &mut Criterion) {
    let runtime = runtime();
    // The watchdogs of links have to be started on a runtime. Afterwards no future here waits.
    let _context = runtime.enter();
    let (here, there) = pair(TokioRuntime);
    in_both_ways(criterion, "bare", &here, &there);
    let (here, there) = runtime.block_on(negotiated());
    in_both_ways(criterion, "link", &here, &there);
    serialised::<Bincode>(criterion);
    serialised::<Postcard>(criterion);
}

/// Returns the output of a future that never waits here.
fn at_once<T>(future: impl Future<Output = Result<T, bertha_core::Error>>) -> T {
    future.now_or_never().unwrap().unwrap()
}

fn in_both_ways(
    criterion: &mut Criterion,
    name: &str,
    from: &impl Connection<Data = Buf>,
    to: &impl Connection<Data = Buf>,
) {
    let mut group = criterion.benchmark_group(name);
    let message = || Buf::copy_of(&[7; 64], 64).unwrap();
    group.throughput(Throughput::Elements(1));
    group.bench_function("send and receive", |bencher| {
        let mut message = Some(message());
        bencher.iter(|| {
            at_once(from.send(message.take().unwrap()));
            message = Some(at_once(to.recv()));
        });
    });
    group.throughput(Throughput::Elements(BURST as u64));
    group.bench_function(format!("send and receive a burst of {BURST}"), |bencher| {
        let mut burst: Vec<_> = (0..BURST).map(|_| message()).collect();
        bencher.iter(|| {
            at_once(from.send_batch(burst.drain(..)));
            at_once(to.recv_batch(&mut burst, BURST));
        });
    });
    group.finish();
}

fn serialised<C: Codec<Record> + Default>(criterion: &mut Criterion) {
    let (here, there): (End, End) = pair(TokioRuntime);
    let typed = at_once(Serialize::<Record, C>::with_codec(C::default()).wrap(here));
    let record: Record = (7, "user4242".into(), vec![7; 100]);
    let mut group = criterion.benchmark_group(format!("serialise, {}", C::NAME));
    group.bench_function("clone and encode", |bencher| {
        bencher.iter(|| {
            at_once(typed.send(black_box(&record).clone()));
            at_once(there.recv())
        });
    });
    group.bench_function("copy and decode", |bencher| {
        at_once(typed.send(record.clone()));
        let encoded = at_once(there.recv());
        bencher.iter(|| {
            at_once(there.send(Buf::copy_of(&encoded, 0).unwrap()));
            at_once(typed.recv())
        });
    });
    group.finish();
}
