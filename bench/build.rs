//! Makes types of Rust of the schemas in `managed`.

#[cfg(feature = "managed")]
fn main() -> Result<(), bertha_build::Error> {
    bertha_build::compile(
        &["proto/calls.proto", "proto/reservation.proto", "proto/arguments.proto"],
        &["proto"],
    )
}

#[cfg(not(feature = "managed"))]
fn main() {}
