"""A hotel, with TLS if there are files with its certificate and key: server.py [CERTIFICATE KEY]. Prints its address, and ends when its input
does.

A call for `eve` is refused, one for `slow` gets no response, and one for `late` gets the number of seconds that are left as its price."""

import sys
import threading
from concurrent import futures

import grpc
import protobuf


def reserve(request, context):
    customer, nights, guests = protobuf.read_asked(request)
    if customer == "eve":
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "no room for eve, 100 % sure")
    if customer == "slow":
        ended = threading.Event()
        context.add_callback(ended.set)
        ended.wait()
    if customer == "late":
        return protobuf.answered("late", round(context.time_remaining()))
    return protobuf.answered(customer + ": " + ", ".join(guests), 100 * nights)


server = grpc.server(futures.ThreadPoolExecutor(8))
methods = {"Reserve": grpc.unary_unary_rpc_method_handler(reserve)}
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("hotel.Hotel", methods)])
if len(sys.argv) > 1:
    certificate, key = (open(path, "rb").read() for path in sys.argv[1:3])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
else:
    port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(f"127.0.0.1:{port}", flush=True)
sys.stdin.read()
server.stop(None)
