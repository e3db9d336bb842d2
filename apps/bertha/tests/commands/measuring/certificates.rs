//! A certificate of its own authority, and a shared key, as files.

use std::fs;
use std::path::Path;

/// Writes certificate, key and shared key, and returns their paths.
pub fn written(folder: &Path) -> [String; 3] {
    let made = rcgen::generate_simple_self_signed(["bertha.test".to_owned()]).unwrap();
    let files = [
        ("certificate.pem", made.cert.pem()),
        ("key.pem", made.signing_key.serialize_pem()),
        ("shared", "5a".repeat(32)),
    ];
    files.map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    })
}
