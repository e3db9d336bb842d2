//! Settings in TOML.

use super::failure;
use bertha_core::{Error, ErrorKind};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads the settings of `datapath`, which errors name, from `text`.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if the text is no TOML, or has unknown keys or values.
pub fn from_toml<T: DeserializeOwned>(datapath: &'static str, text: &str) -> Result<T, Error> {
    toml::from_str(text)
        .map_err(|error| failure(datapath, ErrorKind::Invalid, error.to_string()).because(error))
}

/// Reads the settings of `datapath` from the file at `path`.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) as for [`from_toml`], and if the file can't be read; the text names the
/// file.
pub fn from_file<T: DeserializeOwned>(datapath: &'static str, path: &Path) -> Result<T, Error> {
    let concerning = |error: Error| {
        let what = format!("the settings in {}: {}", path.display(), error.context());
        failure(datapath, ErrorKind::Invalid, what).because(error)
    };
    let text = std::fs::read_to_string(path).map_err(|error| concerning(error.into()))?;
    from_toml(datapath, &text).map_err(concerning)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;
    use std::collections::BTreeMap;
    use std::io::Write;

    #[test]
    fn errors_name_the_file_and_the_datapath() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "mtu = 1500").unwrap();
        let read: BTreeMap<String, u16> = from_file("example", file.path()).unwrap();
        assert_eq!(read["mtu"], 1500);
        write!(file, "0000").unwrap();
        for path in [file.path(), Path::new("/nowhere.toml")] {
            let error = from_file::<BTreeMap<String, u16>>("example", path).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&*path.to_string_lossy()) && text.contains("example"), "{text}");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
