//! Files with secrets and sockets that other users of the machine can reach, although they are meant for one
//! user.

use bertha_core::Addr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Warns in the log if other users can read or change a file with a secret: a private key or a password. The
/// group may read it.
///
/// Files that can't be looked at are left to the caller, whose reading fails. Pipes have no rights of their
/// own.
pub fn warn_of_file(path: &Path) {
    let reason =
        fs::metadata(path).ok().and_then(|found| exposed(&found, rustix::process::geteuid().as_raw()));
    if let Some(reason) = reason {
        tracing::warn!(
            path = %path.display(),
            reason,
            "other users of the machine can get at a key or a password; its file should belong to this user and have the mode 0600"
        );
    }
}

/// Warns in the log of the files with secrets that the URL of a store names, `?key=FILE&password_file=FILE`,
/// as [`warn_of_file`] does.
pub fn warn_of_files_in(url: &str) {
    secrets_in(url).for_each(|file| warn_of_file(Path::new(file)));
}

fn secrets_in(url: &str) -> impl Iterator<Item = &str> {
    let (_, query) = url.split_once('?').unwrap_or_default();
    query.split('&').filter_map(|pair| pair.strip_prefix("key=").or(pair.strip_prefix("password_file=")))
}

/// Returns the reason for which a file keeps no secret of `user`.
fn exposed(file: &Metadata, user: u32) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    let mode = file.mode();
    if file.uid() != user && file.uid() != 0 {
        return Some(format!("it belongs to user {}", file.uid()));
    }
    if mode & 0o004 != 0 {
        return Some(format!("every user may read it (mode {:04o})", mode & 0o7777));
    }
    (mode & 0o022 != 0).then(|| format!("other users may change it (mode {:04o})", mode & 0o7777))
}

/// Warns in the log if every user of the machine can connect to a server at `address`: a name in the abstract
/// namespace of Unix sockets has no rights, as the folder of a path has.
pub fn warn_of_address(address: &Addr) {
    if is_open_to_all_users(address) {
        tracing::warn!(
            %address,
            "every user of the machine can connect to a socket with an abstract name; a path lies in a folder, whose rights protect it"
        );
    }
}

fn is_open_to_all_users(address: &Addr) -> bool {
    matches!(address, Addr::Unix(path) if path.as_os_str().as_encoded_bytes().starts_with(b"@"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_readable_for_its_user_alone_or_for_the_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "secret").unwrap();
        let own = fs::metadata(&path).unwrap().uid();
        for (mode, told) in [
            (0o600, None),
            (0o400, None),
            (0o640, None),
            (0o644, Some("may read it (mode 0644)")),
            (0o660, Some("may change it (mode 0660)")),
            (0o602, Some("may change it (mode 0602)")),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let reason = exposed(&fs::metadata(&path).unwrap(), own);
            assert_eq!(reason.is_some(), told.is_some(), "{mode:o}");
            assert!(reason.unwrap_or_default().contains(told.unwrap_or_default()), "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let of_another = exposed(&fs::metadata(&path).unwrap(), own + 1);
        // Root can read every file anyway.
        assert_eq!(of_another.is_some(), own != 0);
        assert_eq!(exposed(&fs::metadata(folder.path()).unwrap(), own), None, "no file");
    }

    #[test]
    fn a_url_names_its_secrets() {
        let url = "rediss://user@host:1?ca=a.pem&cert=c.pem&key=k.pem&password_file=/p";
        assert_eq!(secrets_in(url).collect::<Vec<_>>(), ["k.pem", "/p"]);
        assert_eq!(secrets_in("redis://host:1").count(), 0);
    }

    #[test]
    fn a_name_without_a_file_is_open_to_all_users() {
        for (address, is_open) in [("unix:@store", true), ("unix:/run/store", false), ("127.0.0.1:1", false)]
        {
            assert_eq!(is_open_to_all_users(&address.parse().unwrap()), is_open, "{address}");
        }
    }
}
