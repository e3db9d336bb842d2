//! Makes types of Rust of the hotel's schema.

#[cfg(feature = "hotel")]
fn main() -> Result<(), bertha_build::Error> {
    bertha_build::compile(&["proto/hotel.proto"], &["proto"])
}

#[cfg(not(feature = "hotel"))]
fn main() {}
