//! The Toeplitz hash, by which ports with several queues choose a queue, as Microsoft's "RSS hashing
//! functions" describe it.

/// Computes the hash of `input` with `key`, which is at least four bytes longer than the input.
///
/// The function handles bit after bit: it is the reference for the table below.
#[cfg(test)]
pub(crate) fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
    let window = |bit: usize| (0..32).fold(0, |window, at| window << 1 | u32::from(is_set(key, bit + at)));
    (0..input.len() * 8).filter(|&bit| is_set(input, bit)).fold(0, |hash, bit| hash ^ window(bit))
}

#[cfg(test)]
fn is_set(bytes: &[u8], bit: usize) -> bool {
    bytes[bit / 8] >> (7 - bit % 8) & 1 == 1
}

/// The symmetric key repeats these 16 bits. With such a key both ends of a flow compute equal hashes, and its
/// words may be added before they are hashed: the value comes from "Scalable TCP session monitoring with
/// symmetric receive-side scaling" (Woo and Park, 2012).
pub(crate) const REPEATED: u16 = 0x6d5a;

/// Returns the hash, with the symmetric key, of 16-bit words whose exclusive or is `word`.
#[inline]
pub(crate) fn symmetric(word: u16) -> u32 {
    let [high, low] = word.to_be_bytes();
    let half = BYTES[0][usize::from(high)] ^ BYTES[1][usize::from(low)];
    // The key repeats within the hash's 32 bits too.
    u32::from(half) << 16 | u32::from(half)
}

/// The upper half of the hash for each value of a word's upper byte, and of its lower byte.
static BYTES: [[u16; 256]; 2] = tables();

const fn tables() -> [[u16; 256]; 2] {
    let mut tables = [[0; 256]; 2];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> (7 - bit) & 1 == 1 {
                tables[0][byte] ^= REPEATED.rotate_left(bit);
                tables[1][byte] ^= REPEATED.rotate_left(8 + bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    /// The key and the values of Microsoft's "Verifying the RSS hash calculation".
    const KEY: [u8; 40] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
        0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
        0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
    ];

    /// Source, destination, and the hash of addresses with ports.
    const VECTORS: [(&str, &str, u32); 8] = [
        ("66.9.149.187:2794", "161.142.100.80:1766", 0x51cc_c178),
        ("199.92.111.2:14230", "65.69.140.83:4739", 0xc626_b0ea),
        ("24.19.198.95:12898", "12.22.207.184:38024", 0x5c2b_394a),
        ("38.27.205.30:48228", "209.142.163.6:2217", 0xafc7_327f),
        ("153.39.163.191:44251", "202.188.127.2:1303", 0x10e8_28a2),
        ("[3ffe:2501:200:1fff::7]:2794", "[3ffe:2501:200:3::1]:1766", 0x4020_7d3d),
        ("[3ffe:501:8::260:97ff:fe40:efab]:14230", "[ff02::1]:4739", 0xdde5_1bbf),
        ("[3ffe:1900:4545:3:200:f8ff:fe21:67cf]:44251", "[fe80::200:f8ff:fe21:67cf]:38024", 0x02d1_feef),
    ];

    /// Returns the bytes of a packet that are hashed.
    fn input(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
        let octets = |address: SocketAddr| match address.ip() {
            std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
            std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let ports = [source.port(), destination.port()].map(u16::to_be_bytes).concat();
        [octets(source), octets(destination), ports].concat()
    }

    #[test]
    fn the_vectors_of_microsoft() {
        for (source, destination, hash) in VECTORS {
            let input = input(source.parse().unwrap(), destination.parse().unwrap());
            assert_eq!(toeplitz(&KEY, &input), hash, "{source} to {destination}");
        }
    }

    proptest! {
        #[test]
        fn the_symmetric_hash_is_that_of_its_key(words in prop::collection::vec(any::<u16>(), 1..18)) {
            let key = REPEATED.to_be_bytes().repeat(20);
            let input: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let sum = words.iter().fold(0, |sum, word| sum ^ word);
            prop_assert_eq!(symmetric(sum), toeplitz(&key, &input));
        }
    }
}
