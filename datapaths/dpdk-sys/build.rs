//! The build script compiles the shim and links DPDK, if it is installed; otherwise the crate reports its
//! absence.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Oldest release that is tested.
const OLDEST: &str = "22.11";

/// The libraries that the shim calls; the linker finds the libraries that these need.
const LIBRARIES: [&str; 5] = ["rte_eal", "rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring"];

/// The drivers of virtual devices in a static build, with the libraries that these and the drivers of cards need,
/// since nothing is loaded at run time. The last two belong to newer releases alone.
const STATIC: [&str; 31] = [
    "rte_net_memif",
    "rte_net_af_packet",
    "rte_net_ring",
    "rte_net_null",
    "rte_net_tap",
    "rte_net_vhost",
    "rte_bus_vdev",
    "rte_bus_pci",
    "rte_bus_vmbus",
    "rte_common_iavf",
    "rte_mempool_ring",
    "rte_vhost",
    "rte_security",
    "rte_cryptodev",
    "rte_dmadev",
    "rte_ethdev",
    "rte_gso",
    "rte_hash",
    "rte_net",
    "rte_pci",
    "rte_timer",
    "rte_mbuf",
    "rte_mempool",
    "rte_rcu",
    "rte_ring",
    "rte_meter",
    "rte_eal",
    "rte_kvargs",
    "rte_telemetry",
    "rte_log",
    "rte_argparse",
];

/// The drivers of cards in a static build.
const CARDS: [&str; 22] = [
    "atlantic", "axgbe", "bnxt", "cxgbe", "e1000", "ena", "enic", "gve", "hinic", "hns3", "i40e", "iavf",
    "ice", "igc", "ionic", "ixgbe", "netvsc", "nfp", "ngbe", "qede", "virtio", "vmxnet3",
];

/// Drivers that are not in a static build, since they need further libraries of the system at run time.
const LEFT_OUT: &str = "af_xdp, mlx4, mlx5, pcap";

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
        link_static()?;
    } else {
        for library in LIBRARIES {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    println!("cargo:rustc-cfg=dpdk");
    Ok(())
}

/// Links DPDK's static libraries, as far as they are there, and says which drivers the program is without.
fn link_static() -> Result<(), Box<dyn Error>> {
    let folder = pkg_config(&["--variable", "libdir"])?;
    let is_there = |library: &str| Path::new(folder.trim()).join(format!("lib{library}.a")).exists();
    // Libraries are linked whole, since drivers register themselves in constructors to which no symbol refers.
    let whole = |library: &str| println!("cargo:rustc-link-lib=static:+whole-archive={library}");
    STATIC.into_iter().filter(|library| is_there(library)).for_each(whole);
    let mut missing = Vec::new();
    for card in CARDS {
        let library = format!("rte_net_{card}");
        if is_there(&library) { whole(&library) } else { missing.push(card) }
    }
    if !missing.is_empty() {
        println!(
            "cargo:warning=built without the drivers {}: their static libraries are not in {}",
            missing.join(", "),
            folder.trim()
        );
    }
    println!(
        "cargo:warning=a static build is without the drivers {LEFT_OUT}, which need further libraries at run time: \
         build without the feature `static` for them"
    );
    // DPDK's own needs: with some distributions, string functions of BSD.
    let needs_bsd = pkg_config(&["--static", "--libs"])?.split_whitespace().any(|flag| flag == "-lbsd");
    for library in if needs_bsd { &["bsd", "md", "numa"][..] } else { &["numa"] } {
        let kind = if is_there(library) { "static" } else { "dylib" };
        println!("cargo:rustc-link-lib={kind}={library}");
    }
    for library in ["m", "dl", "pthread"] {
        println!("cargo:rustc-link-lib={library}");
    }
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
