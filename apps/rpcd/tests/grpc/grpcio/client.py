"""Calls the hotel at ADDRESS, by TLS if there is a file with the CA's certificate, and checks the outcomes: client.py ADDRESS [CA NAME].

A call for `eve` has to be refused by a policy, and one for `slow` to get no response."""

import sys

import grpc
import protobuf

Code = grpc.StatusCode


def code(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return Code.OK


def details(call):
    """Returns the `google.rpc.Status` of a failure, encoded, or nothing."""
    try:
        call()
    except grpc.RpcError as error:
        return dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
    return b""


def check(channel):
    reserve = channel.unary_unary("/hotel.Hotel/Reserve")
    for nights in range(1, 51):
        response = reserve(protobuf.asked("ada", nights, ["grace", "edsger"]), timeout=20)
        assert response == protobuf.answered("ada: grace, edsger", 100 * nights), response
    calls = [reserve.future(protobuf.asked("ada", nights), timeout=20) for nights in range(1, 301)]
    for nights, call in enumerate(calls, 1):
        assert call.result() == protobuf.answered("ada: ", 100 * nights)
    long = "x" * (3 << 20)
    assert reserve(protobuf.asked("ada", 1, [long]), timeout=20) == protobuf.answered("ada: " + long, 100)

    too_long = protobuf.asked("ada", 1, ["x" * (5 << 20)])
    assert code(lambda: reserve(too_long, timeout=20)) == Code.RESOURCE_EXHAUSTED
    assert code(lambda: reserve(protobuf.asked("eve", 1), timeout=20)) == Code.PERMISSION_DENIED
    denied = details(lambda: reserve(protobuf.asked("eve", 1), timeout=20))
    assert denied.startswith(b"\x08\x07") and b"google.rpc.ErrorInfo" in denied and b"DENIED" in denied, denied
    assert code(lambda: reserve(b"\xff", timeout=20)) == Code.INVALID_ARGUMENT
    for path in ["/hotel.Hotel/Leave", "/hotel.Motel/Reserve"]:
        assert code(lambda: channel.unary_unary(path)(b"", timeout=20)) == Code.UNIMPLEMENTED, path
    compressed = lambda: reserve(protobuf.asked("ada", 1, ["x" * 999]), timeout=20, compression=grpc.Compression.Gzip)
    assert code(compressed) == Code.UNIMPLEMENTED
    assert code(lambda: reserve(protobuf.asked("slow", 1), timeout=0.2)) == Code.DEADLINE_EXCEEDED
    given_up = reserve.future(protobuf.asked("slow", 1))
    given_up.cancel()
    assert given_up.cancelled()
    assert reserve(protobuf.asked("ada", 2), timeout=20) == protobuf.answered("ada: ", 200)


if len(sys.argv) > 2:
    with open(sys.argv[2], "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    options = [("grpc.ssl_target_name_override", sys.argv[3])]
    check(grpc.secure_channel(sys.argv[1], credentials, options))
else:
    check(grpc.insecure_channel(sys.argv[1]))
print("ok")
