#!/usr/bin/env python3
"""Additive increase and multiplicative decrease, as in section 4.4.2 of the thesis.

The datapath counts the bytes that arrive and the packets that are lost (listing 4.1), and reports both each round
trip. The first argument is the path of the agent's socket.
"""

import sys

import portus

# The smallest window, in packets.
MIN = 2

PROGRAM = """
(def (Report (volatile acked 0) (volatile lost 0)))
(when true
    (:= Report.acked (+ Report.acked Ack.bytes_acked))
    (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
    (fallthrough))
(when (> Micros Flow.rtt_sample_us)
    (report)
    (:= Micros 0))
"""


class AimdFlow:
    def __init__(self, datapath, datapath_info):
        self.datapath = datapath
        self.mss = datapath_info.mss
        self.cwnd = float(datapath_info.init_cwnd)
        self.datapath.set_program("a round trip", [("Cwnd", int(self.cwnd))])

    def on_report(self, report):
        if report.lost > 0:
            self.cwnd = max(self.cwnd / 2, MIN * self.mss)
        else:
            self.cwnd += report.acked * self.mss / self.cwnd
        self.datapath.update_field("Cwnd", int(self.cwnd))


class Aimd(portus.AlgBase):
    def datapath_programs(self):
        return {"a round trip": PROGRAM}

    def new_flow(self, datapath, datapath_info):
        return AimdFlow(datapath, datapath_info)


if __name__ == "__main__":
    portus.start("unix", Aimd(), *sys.argv[1:2])
