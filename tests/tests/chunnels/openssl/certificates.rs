//! An authority and its certificates, as files for `openssl` and as values for `Tls`.

use bertha_chunnels::{TlsIdentity, Trust};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const NAME: &str = "store.example";

/// A folder of this test, which is removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("bertha-openssl-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The files of an end.
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub(crate) fn file(&self, folder: &Folder) -> PathBuf {
        folder.write("ca.pem", self.issuer.pem().as_bytes())
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::ca_pem(self.issuer.pem()).unwrap()
    }

    pub(crate) fn issue(&self, folder: &Folder, name: &str) -> Files {
        self.issue_until(folder, name, 2095)
    }

    pub(crate) fn issue_until(&self, folder: &Folder, name: &str, year: i32) -> Files {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Files {
            certificate: folder.write(&format!("{name}.pem"), certificate.as_bytes()),
            key: folder.write(&format!("{name}.key"), key.serialize_pem().as_bytes()),
        }
    }
}

impl Files {
    pub(crate) fn identity(&self) -> TlsIdentity {
        TlsIdentity::from_pem_files(&self.certificate, &self.key).unwrap()
    }
}

/// Returns the path as an argument.
pub(crate) fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}
