//! Taking buffers from the pool, giving them back, and cutting them up.

use bertha_core::Buf;
use criterion::Criterion;
use std::hint::black_box;

pub(crate) fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("buffers");
    for len in [64, 1400, 65_536] {
        group.bench_function(format!("take and put, {len} bytes"), |bencher| {
            bencher.iter(|| Buf::new(black_box(len), 4).unwrap());
        });
    }
    group.bench_function("put in front and take off 4 bytes", |bencher| {
        let mut buf = Buf::new(64, 4).unwrap();
        bencher.iter(|| {
            black_box(&mut buf).prepend(4).unwrap().copy_from_slice(&[1, 2, 3, 4]);
            black_box(&mut buf).advance(4).unwrap();
        });
    });
    group.bench_function("split 1,024 bytes into 16", |bencher| {
        bencher.iter(|| {
            let mut buf = Buf::new(black_box(1024), 0).unwrap();
            (0..16).for_each(|_| drop(black_box(buf.split_to(64).unwrap())));
        });
    });
    group.finish();
}
