"""Starts ranks as MVAPICH's mpispawn does: mpispawn.py RANKS PROGRAM [WORD…].

Each gets a number (PMI_ID) and a port (PMI_PORT), at which it asks for the rest by PMI 1. PMI_RANK is not set.
"""
import os
import socket
import subprocess
import sys
import threading

ranks, command = int(sys.argv[1]), sys.argv[2:]
listener = socket.create_server(("127.0.0.1", 0))
values = {"PMI_process_mapping": f"(vector,(0,1,{ranks}))"}
barrier = threading.Barrier(ranks, timeout=60)


def words_of(line):
    return dict(word.split("=", 1) for word in line.split())


def answer(asked):
    """What a line of a rank is answered with."""
    match asked["cmd"]:
        case "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        case "get_maxes":
            return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
        case "get_appnum":
            return "cmd=appnum appnum=0"
        case "get_universe_size":
            return f"cmd=universe_size size={ranks}"
        case "get_my_kvsname":
            return "cmd=my_kvsname kvsname=kvs"
        case "put":
            values[asked["key"]] = asked["value"]
            return "cmd=put_result rc=0 msg=success"
        case "get":
            value = values.get(asked["key"])
            return f"cmd=get_result rc=0 msg=success value={value}" if value else "cmd=get_result rc=-1 msg=unknown value=unknown"
        case "barrier_in":
            barrier.wait()
            return "cmd=barrier_out rc=0"
        case "finalize":
            return "cmd=finalize_ack rc=0"


def serve(connection):
    with connection, connection.makefile("rw") as talk:
        rank = words_of(talk.readline())["pmiid"]
        talk.write(f"cmd=initack\ncmd=set size={ranks}\ncmd=set rank={rank}\ncmd=set debug=0\n")
        talk.flush()
        for line in talk:
            talk.write(answer(words_of(line)) + "\n")
            talk.flush()


def greet():
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()


def start(rank):
    port = f"127.0.0.1:{listener.getsockname()[1]}"
    own = {"PMI_PORT": port, "PMI_ID": rank, "MPIRUN_RANK": rank, "MPIRUN_NPROCS": ranks}
    return subprocess.Popen(command, env={**os.environ, **{name: str(value) for name, value in own.items()}})


threading.Thread(target=greet, daemon=True).start()
codes = [process.wait(100) for process in [start(rank) for rank in range(ranks)]]
sys.exit(1 if any(codes) else 0)
