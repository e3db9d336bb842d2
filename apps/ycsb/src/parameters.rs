//! The parameters of a core workload, under YCSB's names and with its defaults.

use std::time::Duration;

use bertha_kvstore::{MAX_KEY, MAX_SCAN, MAX_VALUE};

use crate::properties::{Properties, PropertyError};

/// The choice of the key of a read, update or read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestDistribution {
    /// Every record is as likely as any other.
    Uniform,
    /// A few records, spread over the key space, are drawn in most requests.
    Zipfian,
    /// The records inserted last are drawn in most requests.
    Latest,
}

/// The choice of the number of records of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanLengthDistribution {
    /// Every length is as likely as any other.
    Uniform,
    /// Short scans are more frequent than long scans.
    Zipfian,
}

/// The conversion of a record's number to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// The number is hashed, so that neighbours in time are not neighbours in the key space.
    Hashed,
    /// The number is used as it is.
    Ordered,
}

/// The frequency of each kind of operation, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// `readproportion`
    pub read: f64,
    /// `scanproportion`
    pub scan: f64,
    /// `updateproportion`
    pub update: f64,
    /// `insertproportion`
    pub insert: f64,
    /// `readmodifywriteproportion`
    pub read_modify_write: f64,
}

/// A checked core workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Number of records in the store when the run begins (`recordcount`).
    pub records: u64,
    /// Number of operations of the run (`operationcount`); 0 means no limit, and then `max_time` is the
    /// limit.
    pub operations: u64,
    /// Number of the first record (`insertstart`).
    pub insert_start: u64,
    /// Number of records that the load phase writes (`insertcount`).
    pub insert_count: u64,
    /// The proportions.
    pub mix: Mix,
    /// `requestdistribution`
    pub distribution: RequestDistribution,
    /// Smallest and largest number of records of a scan (`minscanlength`, `maxscanlength`).
    pub scan_lengths: (u32, u32),
    /// `scanlengthdistribution`
    pub scan_distribution: ScanLengthDistribution,
    /// `insertorder`
    pub order: InsertOrder,
    /// Smallest number of digits in a key (`zeropadding`).
    pub zero_padding: usize,
    /// Number of fields per record (`fieldcount`).
    pub fields: usize,
    /// Number of bytes per field (`fieldlength`).
    pub field_length: usize,
    /// True if an update writes the whole record (`writeallfields`).
    pub write_all_fields: bool,
    /// Time after which no operation is issued (`maxexecutiontime`, in seconds).
    pub max_time: Option<Duration>,
    /// Offered load in operations per second (`target`); `None` is a closed loop.
    pub target: Option<f64>,
}

/// Names that stock files and command lines carry, and that change nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "dataintegrity",
    "db",
    "exporter",
    "exportfile",
    "fieldnameprefix",
    "hdrhistogram.percentiles",
    "histogram.buckets",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "measurementtype",
    "status.interval",
    "table",
    "threadcount",
    "timeseries.granularity",
];

const KNOWN: &[&str] = &[
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "insertcount",
    "insertorder",
    "insertproportion",
    "insertstart",
    "maxexecutiontime",
    "maxscanlength",
    "minscanlength",
    "operationcount",
    "readallfields",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanlengthdistribution",
    "scanproportion",
    "target",
    "updateproportion",
    "workload",
    "writeallfields",
    "zeropadding",
];

/// The beginning of each key.
pub(crate) const KEY_PREFIX: &str = "user";

/// Largest zero padding. YCSB sets no bound, so the store does: its keys hold this many digits behind [`KEY_PREFIX`].
const MAX_ZERO_PADDING: usize = MAX_KEY - KEY_PREFIX.len();

impl Parameters {
    /// Checks `properties`. Also returns a warning for each property that is unknown or has no effect.
    ///
    /// # Errors
    /// [`PropertyError::BadValue`] or [`PropertyError::Unsupported`], which name the property at fault.
    pub fn new(properties: &Properties) -> Result<(Self, Vec<String>), PropertyError> {
        refuse_unsupported(properties)?;
        let count = |name, default| properties.parsed::<u64>(name, default, "a whole number");
        let size = |name, default| properties.parsed::<usize>(name, default, "a whole number");
        let records = count("recordcount", 0)?;
        if records == 0 {
            return Err(bad(properties, "recordcount", "at least 1 record"));
        }
        let insert_start = count("insertstart", 0)?;
        let insert_count = count("insertcount", records.saturating_sub(insert_start))?;
        if insert_start.checked_add(insert_count).is_none_or(|end| end > records) || insert_count == 0 {
            return Err(bad(properties, "insertstart", "insertstart + insertcount within recordcount"));
        }
        let parameters = Self {
            records,
            operations: count("operationcount", 0)?,
            insert_start,
            insert_count,
            mix: mix(properties)?,
            distribution: distribution(properties)?,
            scan_lengths: scan_lengths(properties)?,
            scan_distribution: match properties.get("scanlengthdistribution").unwrap_or("uniform") {
                "uniform" => ScanLengthDistribution::Uniform,
                "zipfian" => ScanLengthDistribution::Zipfian,
                _ => return Err(bad(properties, "scanlengthdistribution", "uniform or zipfian")),
            },
            order: match properties.get("insertorder").unwrap_or("hashed") {
                "hashed" => InsertOrder::Hashed,
                "ordered" => InsertOrder::Ordered,
                _ => return Err(bad(properties, "insertorder", "hashed or ordered")),
            },
            zero_padding: size("zeropadding", 1)?,
            fields: size("fieldcount", 10)?,
            field_length: size("fieldlength", 100)?,
            write_all_fields: properties.parsed("writeallfields", false, "true or false")?,
            max_time: match count("maxexecutiontime", 0)? {
                0 => None,
                seconds => Some(Duration::from_secs(seconds)),
            },
            target: match properties.parsed("target", 0.0, "operations per second")? {
                0.0 => None,
                rate if f64::is_finite(rate) && rate > 0.0 => Some(rate),
                _ => return Err(bad(properties, "target", "operations per second, above 0")),
            },
        };
        parameters.check_sizes(properties)?;
        Ok((parameters, warnings(properties)))
    }

    /// Returns the number of bytes per record.
    pub fn record_length(&self) -> usize {
        self.fields * self.field_length
    }

    fn check_sizes(&self, properties: &Properties) -> Result<(), PropertyError> {
        if self.fields == 0 {
            return Err(bad(properties, "fieldcount", "at least 1 field"));
        }
        if self.fields.checked_mul(self.field_length).is_none_or(|length| length == 0 || length > MAX_VALUE) {
            let expected =
                format!("fieldcount * fieldlength from 1 to {MAX_VALUE} bytes, what one value may be");
            return Err(bad(properties, "fieldlength", &expected));
        }
        if self.zero_padding > MAX_ZERO_PADDING {
            let expected = format!("at most {MAX_ZERO_PADDING} digits, since keys are bounded");
            return Err(bad(properties, "zeropadding", &expected));
        }
        Ok(())
    }
}

fn bad(properties: &Properties, name: &'static str, expected: &str) -> PropertyError {
    let value = properties.get(name).unwrap_or("(unset)").to_owned();
    PropertyError::BadValue { name, value, expected: expected.to_owned() }
}

fn refuse_unsupported(properties: &Properties) -> Result<(), PropertyError> {
    let refuse = |name, advice| match properties.get(name) {
        Some(value) => Err(PropertyError::Unsupported { name, value: value.to_owned(), advice }),
        None => Ok(()),
    };
    if properties.get("workload").is_some_and(|class| !class.ends_with("CoreWorkload")) {
        refuse("workload", "only site.ycsb.workloads.CoreWorkload is built in")?;
    }
    if properties.get("fieldlengthdistribution").is_some_and(|kind| kind != "constant") {
        refuse("fieldlengthdistribution", "fields lie at fixed offsets in a record; use constant")?;
    }
    Ok(())
}

fn mix(properties: &Properties) -> Result<Mix, PropertyError> {
    let proportion = |name, default: f64| {
        let value: f64 = properties.parsed(name, default, "a number from 0")?;
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(bad(properties, name, "a number from 0"))
        }
    };
    let mix = Mix {
        read: proportion("readproportion", 0.95)?,
        scan: proportion("scanproportion", 0.0)?,
        update: proportion("updateproportion", 0.05)?,
        insert: proportion("insertproportion", 0.0)?,
        read_modify_write: proportion("readmodifywriteproportion", 0.0)?,
    };
    if mix.read + mix.scan + mix.update + mix.insert + mix.read_modify_write > 0.0 {
        Ok(mix)
    } else {
        Err(bad(properties, "readproportion", "at least one of the proportions above 0"))
    }
}

fn scan_lengths(properties: &Properties) -> Result<(u32, u32), PropertyError> {
    let length = |name, default| properties.parsed::<u32>(name, default, "a whole number");
    let (shortest, longest) = (length("minscanlength", 1)?, length("maxscanlength", 1000)?);
    if longest == 0 || longest as usize > MAX_SCAN {
        let expected = format!("1 to {MAX_SCAN} records, what one scan may ask for");
        return Err(bad(properties, "maxscanlength", &expected));
    }
    if shortest == 0 || shortest > longest {
        return Err(bad(properties, "minscanlength", "1 record to maxscanlength"));
    }
    Ok((shortest, longest))
}

fn distribution(properties: &Properties) -> Result<RequestDistribution, PropertyError> {
    match properties.get("requestdistribution").unwrap_or("uniform") {
        "uniform" => Ok(RequestDistribution::Uniform),
        "zipfian" => Ok(RequestDistribution::Zipfian),
        "latest" => Ok(RequestDistribution::Latest),
        value @ ("hotspot" | "sequential" | "exponential") => Err(PropertyError::Unsupported {
            name: "requestdistribution",
            value: value.to_owned(),
            advice: "use zipfian, latest or uniform, which workloads A to F need",
        }),
        _ => Err(bad(properties, "requestdistribution", "zipfian, latest or uniform")),
    }
}

fn warnings(properties: &Properties) -> Vec<String> {
    let mut warnings: Vec<String> = properties
        .names()
        .filter(|name| !KNOWN.contains(name))
        .map(|name| match WITHOUT_EFFECT.contains(&name) {
            true => format!("property {name} has no effect on this client"),
            false => format!("property {name} is unknown and ignored; is it misspelt?"),
        })
        .collect();
    if properties.get("readallfields") == Some("false") {
        warnings
            .push("readallfields=false: the store returns whole records, so reads carry all fields".into());
    }
    warnings
}

#[cfg(test)]
mod tests;
