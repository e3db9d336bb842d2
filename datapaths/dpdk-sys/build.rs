//! The build script compiles the shim and links DPDK, if it is installed; otherwise the crate reports its
//! absence.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Oldest release that is tested.
const OLDEST: &str = "22.11";

/// The libraries that the shim calls; the linker finds the libraries that these need.
const LIBRARIES: [&str; 5] = ["rte_eal", "rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring"];

/// The drivers of a static build, with the libraries that they need, since nothing is loaded at run time.
const STATIC: [&str; 18] = [
    "rte_net_memif",
    "rte_net_af_packet",
    "rte_net_ring",
    "rte_net_null",
    "rte_net_tap",
    "rte_bus_vdev",
    "rte_mempool_ring",
    "rte_ethdev",
    "rte_gso",
    "rte_hash",
    "rte_net",
    "rte_mbuf",
    "rte_mempool",
    "rte_rcu",
    "rte_ring",
    "rte_meter",
    "rte_eal",
    "rte_kvargs",
];

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_LIBDIR");
    println!("cargo:rustc-check-cfg=cfg(dpdk)");
    if let Err(error) = link() {
        println!(
            "cargo:warning=built without DPDK ({error}); install DPDK {OLDEST} or newer: \
             `scripts/dpdk install`, or `apt-get install libdpdk-dev dpdk-dev pkg-config`"
        );
        // A file that does not exist makes cargo ask again in the next build.
        println!("cargo:rerun-if-changed=shim/dpdk-is-missing");
    }
}

fn link() -> Result<(), Box<dyn Error>> {
    pkg_config(&["--atleast-version", OLDEST])?;
    let mut shim = cc::Build::new();
    // All flags are passed on as they are: `-include rte_config.h` and the instruction set belong to DPDK's
    // headers.
    for flag in pkg_config(&["--cflags"])?.split_whitespace() {
        shim.flag(flag);
    }
    shim.file("shim/shim.c").opt_level(3).warnings(true).try_compile("bertha_dpdk_shim")?;
    for folder in pkg_config(&["--variable", "libdir"])?.split_whitespace() {
        println!("cargo:rustc-link-search=native={folder}");
    }
    if std::env::var_os("CARGO_FEATURE_STATIC").is_some() {
        let folder = pkg_config(&["--variable", "libdir"])?;
        for library in STATIC.into_iter().chain(["rte_telemetry", "rte_log", "rte_argparse"]) {
            if Path::new(folder.trim()).join(format!("lib{library}.a")).exists() {
                // Libraries are linked whole, since drivers register themselves in constructors to which no
                // symbol refers.
                println!("cargo:rustc-link-lib=static:+whole-archive={library}");
            }
        }
        for library in ["numa", "m", "dl", "pthread"] {
            println!("cargo:rustc-link-lib={library}");
        }
    } else {
        for library in LIBRARIES {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    println!("cargo:rustc-cfg=dpdk");
    Ok(())
}

fn pkg_config(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("pkg-config")
        .args(arguments)
        .arg("libdpdk")
        .output()
        .map_err(|error| format!("pkg-config can't be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("pkg-config finds no libdpdk of release {OLDEST} or newer").into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
