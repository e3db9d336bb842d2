//! A descriptor set with one service.

use super::collect::full_name;
use super::{Schema, Unsuitable};
use prost::Message as _;
use prost_types::FileDescriptorSet;

impl Schema {
    /// Returns a descriptor set in which the service of this full name is the only one, without comments and places in files. So the bytes, and
    /// the hash of the schema, depend neither on services beside it nor on how the set was written.
    ///
    /// # Errors
    /// Fails for what is no descriptor set.
    pub fn alone(descriptors: &[u8], service: &str) -> Result<Vec<u8>, Unsuitable> {
        if descriptors.len() > Self::LONGEST {
            return Err(Unsuitable::Long(descriptors.len()));
        }
        super::parts::check(descriptors)?;
        let mut set = FileDescriptorSet::decode(descriptors).map_err(Unsuitable::Malformed)?;
        for file in &mut set.file {
            file.source_code_info = None;
            let package = file.package().to_owned();
            let is_it = |name: &str| full_name(&package, name).is_ok_and(|name| name == service);
            file.service.retain(|described| is_it(described.name()));
        }
        Ok(set.encode_to_vec())
    }
}
