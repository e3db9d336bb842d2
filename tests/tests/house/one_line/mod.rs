//! The key-value store with its YCSB client, file-transfer, and the example `echo`. The sources are built
//! unchanged over kernel UDP, and with one more feature of `bertha` over DPDK and over Caladan.

#[path = "../../caladan/beside.rs"]
mod beside;
mod caladan;
mod dpdk;
mod programs;
