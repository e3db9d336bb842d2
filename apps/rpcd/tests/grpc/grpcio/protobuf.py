"""The messages of the hotel in protobuf, written and read by hand."""


def varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes(encoded + bytes([number]))


def text(field, content):
    encoded = content.encode()
    return varint(field << 3 | 2) + varint(len(encoded)) + encoded


def asked(customer, nights, guests=()):
    number = varint(2 << 3) + varint(nights) if nights else b""
    return text(1, customer) + number + b"".join(text(3, guest) for guest in guests)


def answered(room, price):
    return text(1, room) + varint(2 << 3) + varint(price)


def read_varint(encoded, at):
    number, shift = 0, 0
    while True:
        byte = encoded[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def read_asked(encoded):
    customer, nights, guests, at = "", 0, [], 0
    while at < len(encoded):
        tag, at = read_varint(encoded, at)
        value, at = read_varint(encoded, at)
        if tag == 2 << 3:
            nights = value
            continue
        content, at = encoded[at : at + value].decode(), at + value
        if tag == 1 << 3 | 2:
            customer = content
        elif tag == 3 << 3 | 2:
            guests.append(content)
    return customer, nights, guests
