"""Runs dialogues at a runner: starts them over REST, follows /api/events, and answers what they ask.

Ids are derived from the jobs, so that each start and each prompt may be repeated. It may be killed and started again
at any moment, and so may the runner. Usage: orchestrator.py SOCKET AGENT COUNT
"""

import http.client
import json
import socket
import sys
import threading
import time
import uuid

SOCKET, AGENT, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def name(kind, job):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{job}"))


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)  # a comment comes every 10 s
        self.sock.connect(SOCKET)


def call(method, path, body):
    while True:
        try:
            connection = Connection("localhost")
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.read() and response.status < 500:
                return response.status
        except (OSError, http.client.HTTPException):
            pass  # the runner is being restarted
        time.sleep(0.1)


def start(job):
    prompt = {"prompt": f"/ask job {job}", "prompt_id": name("prompt", job)}
    body = {"id": name("session", job), "agent": AGENT, "agent_args": ["--pace", "0"], **prompt}
    status = call("POST", "/api/sessions", body)
    assert status in (201, 409), status  # 409: it was started before


def events():
    last = {}
    while True:
        try:
            connection = Connection("localhost")
            connection.request("GET", "/api/events?types=permission,phase", headers=last)
            for line in connection.getresponse():
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "id":
                    last = {"Last-Event-ID": value}
                elif field == "data":
                    yield json.loads(value)
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)


threading.Thread(target=lambda: [start(job) for job in range(COUNT)], daemon=True).start()
jobs, results = {name("session", job): job for job in range(COUNT)}, {}
for event in events():
    session, job = event["session"], jobs.get(event["session"])
    if job is not None and event["type"] == "permission" and event["state"] == "open":
        answer = {"request_id": event["request_id"], "decision": "allow", "by": "orchestrator"}
        call("POST", f"/api/sessions/{session}/permissions", answer)
        print(f"answered {job}", flush=True)
    elif job is not None and event["type"] == "phase":
        if event["attention"] and event["attention"]["reason"] == "finished":
            results[job] = event["attention"]["text"]
    if len(results) == COUNT:
        print(f"results {len(results)}", flush=True)
        break
