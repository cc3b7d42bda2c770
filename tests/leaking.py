"""A page that tries every way to another address, and listeners that see what arrives there.

`SCRIPT` tries with scripts, `HEAD` and `BODY` without.
"""

import contextlib
import socket
import threading

# Another address of this machine: neither the page's server nor the proxy is there.
ELSEWHERE = "127.0.0.2"

SCRIPT = """
const tried = [];
const attempt = (name, what) => {
  tried.push(name);
  try { Promise.resolve(what()).catch(() => {}); } catch {}
};
const add = (tag, values) => document.body.append(
  Object.assign(document.createElement(tag), values));
const channel = (config, candidate) => {
  const link = new RTCPeerConnection(config);
  link.createDataChannel('x');
  if (!candidate) return link.createOffer().then(offer => link.setLocalDescription(offer));
  const peer = new RTCPeerConnection(config);
  peer.ondatachannel = () => {};
  return link.createOffer().then(async offer => {
    await link.setLocalDescription(offer);
    await peer.setRemoteDescription(offer);
    const answer = await peer.createAnswer();
    await peer.setLocalDescription(answer);
    await link.setRemoteDescription(answer);
    for (const where of candidate) await link.addIceCandidate({candidate: where, sdpMid: '0'});
  });
};
attempt('fetch', () => fetch('HTTP/fetch', {mode: 'no-cors'}));
attempt('keepalive', () => fetch('HTTP/keepalive', {mode: 'no-cors', keepalive: true}));
attempt('xhr', () => { const x = new XMLHttpRequest(); x.open('GET', 'HTTP/xhr'); x.send(); });
attempt('socket', () => new WebSocket('WS/socket'));
attempt('secure socket', () => new WebSocket('WSS/secure'));
attempt('socket of a name', () => new WebSocket('ws://socket.leak.test:PORT/'));
attempt('events', () => new EventSource('HTTP/events'));
attempt('beacon', () => navigator.sendBeacon('HTTP/beacon', 'x'));
attempt('image', () => { new Image().src = 'HTTP/script-image'; });
attempt('import', () => import('HTTP/import.js'));
attempt('stun', () => channel({iceServers: [{urls: 'stun:HOST:UDP'}]}));
attempt('stun of a name', () => channel({iceServers: [{urls: 'stun:stun.leak.test:UDP'}]}));
attempt('turn', () => channel({iceServers: [
  {urls: ['turn:HOST:UDP', 'turn:HOST:PORT?transport=tcp', 'turns:HOST:PORT?transport=tcp'],
   username: 'u', credential: 'p'}]}));
attempt('peer', () => channel({}, [
  'candidate:1 1 udp 2122260223 HOST UDP typ host',
  'candidate:2 1 tcp 2122260222 HOST PORT typ host tcptype passive',
  'candidate:3 1 udp 2122260221 peer.leak.test UDP typ host',
  'candidate:4 1 udp 2122260220 0b7a4a80-7c2f-4a6e-9a53-0f4d2d0a1e11.local UDP typ host']));
attempt('transport', () => new WebTransport('https://HOST:UDP/transport').ready);
attempt('transport of a name', () => new WebTransport('https://wt.leak.test:UDP/x').ready);
attempt('worker', () => new Worker(URL.createObjectURL(new Blob([`
  fetch('HTTP/worker', {mode: 'no-cors'}); new WebSocket('WS/worker-socket');
  new WebTransport('https://HOST:UDP/worker-transport')`]))));
attempt('service worker', () => navigator.serviceWorker.register('/worker.js'));
attempt('popup', () => open('HTTP/popup'));
attempt('frame', () => add('iframe', {srcdoc: `<script>new WebSocket('WS/frame-socket');
  new RTCPeerConnection({iceServers: [{urls: 'stun:HOST:UDP'}]}).createOffer()<\\/script>`}));
attempt('form', () => {
  const form = add('form', {action: 'HTTP/script-form', method: 'post', target: '_blank'});
  document.querySelector('form:last-of-type').submit(); });
attempt('download', () => {
  add('a', {href: 'HTTP/download', download: 'x', id: 'download', target: '_blank'});
  document.querySelector('#download').click(); });
attempt('ping', () => { document.querySelector('#ping').click(); });
attempt('file', () => fetch('file:///etc/passwd'));
attempt('file in a frame', () => add('iframe', {src: 'file:///etc/passwd'}));
attempt('prefetch', () => add('link', {rel: 'prefetch', href: 'HTTP/script-prefetch'}));
attempt('speculation', () => { const s = document.createElement('script');
  s.type = 'speculationrules'; s.text = JSON.stringify({
    prerender: [{source: 'list', urls: ['HTTP/prerender'], eagerness: 'immediate'}],
    prefetch: [{source: 'list', urls: ['HTTP/speculation'], eagerness: 'immediate'}]});
  document.head.append(s); });
document.title = `tried ${tried.length}`;
"""
TITLE = "tried 27"
HEAD = """<link rel="dns-prefetch" href="//prefetched.leak.test/">
<link rel="preconnect" href="HTTP/"><link rel="preconnect" href="https://HOST:PORT/">
<link rel="preconnect" href="http://connected.leak.test:PORT/">
<link rel="prefetch" href="HTTP/prefetch"><link rel="preload" as="image" href="HTTP/preload">
<link rel="stylesheet" href="HTTP/style.css"><link rel="icon" href="HTTP/icon.png">
<link rel="manifest" href="HTTP/manifest.json"><link rel="modulepreload" href="HTTP/module.js">
<style>@import url(HTTP/import.css);
@font-face { font-family: leak; src: url(HTTP/font.woff2) }
p { font-family: leak; background: url(HTTP/background.png) }</style>"""
BODY = """<p>Canary</p><img src="HTTP/image.png" srcset="HTTP/srcset.png 2x">
<picture><source srcset="HTTP/picture.png"><img></picture>
<video src="HTTP/video.mp4" poster="HTTP/poster.png" autoplay></video>
<audio src="HTTP/audio.mp3" autoplay></audio><track src="HTTP/track.vtt">
<iframe src="HTTP/iframe"></iframe><object data="HTTP/object.svg"></object>
<embed src="HTTP/embed.svg"><input type="image" src="HTTP/input.png">
<svg><image href="HTTP/svg.png"/><use href="HTTP/use.svg#x"/></svg>
<iframe srcdoc="&lt;img src='HTTP/srcdoc.png'&gt;&lt;meta http-equiv='refresh'
 content='0; url=HTTP/frame-refresh'&gt;"></iframe>
<img src="file:///etc/hostname"><iframe src="file:///etc/passwd"></iframe>
<form action="HTTP/form" method="post"><input name="x" value="1"></form>
<a id="ping" href="#x" ping="HTTP/ping">ping</a>
<body background="HTTP/body.png" onload="fetch('HTTP/onload')">
<img src="x:" onerror="fetch('HTTP/onerror')">"""


def page(tcp, udp):
    """The page, with the listeners' ports in its addresses."""
    return filled(f"<!doctype html>{HEAD}<body>{BODY}<script>{SCRIPT}</script>", tcp, udp)


def filled(text, tcp, udp):
    """A part of the page with the listeners' ports."""
    values = [
        ("HTTP", f"http://{ELSEWHERE}:{tcp}"), ("WSS", f"wss://{ELSEWHERE}:{tcp}"),
        ("WS", f"ws://{ELSEWHERE}:{tcp}"), ("HOST", ELSEWHERE), ("PORT", str(tcp)),
        ("UDP", str(udp)),
    ]  # fmt: skip
    for name, value in values:
        text = text.replace(name, value)
    return text


@contextlib.contextmanager
def listeners():
    """The ports of a TCP and a UDP listener elsewhere, and a list of what arrived there."""
    arrived = []
    with (
        socket.create_server((ELSEWHERE, 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind((ELSEWHERE, 0))
        tcp.settimeout(0.05)
        udp.settimeout(0.05)
        ended = threading.Event()

        def listen(receive):
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    arrived.append(receive())

        def accepted():
            connection, _ = tcp.accept()
            with connection:
                connection.settimeout(1)
                with contextlib.suppress(TimeoutError):
                    return "tcp", connection.recv(200)
                return "tcp", b""

        threads = [
            threading.Thread(target=listen, args=(way,))
            for way in (accepted, lambda: ("udp", udp.recv(200)))
        ]
        for thread in threads:
            thread.start()
        try:
            yield tcp.getsockname()[1], udp.getsockname()[1], arrived
        finally:
            ended.set()
            for thread in threads:
                thread.join()
