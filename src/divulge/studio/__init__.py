# SPDX-License-Identifier: Apache-2.0
"""The studio: the whole work in a browser, on one's own machine (`divulge studio`).

Three parts, and none of them knows how a number comes about:

- the page (page.html, studio.js, studio.css) shows what it is sent, and sends back which control was moved;
- the server (server.py, door.py) listens on 127.0.0.1, lets in who came by the printed address, and passes messages on;
- the desk (desk.py, places/), a process beside each page, holds one immutable `Work` (work.py), calls the library, and sends parts of
  the page, made of the same parts, words and charts as a report.

Why not Shiny, by what was read of it and not tried:
its scripts and styles (jQuery, Bootstrap) ask for `unsafe-inline` and `unsafe-eval`, where this page forbids itself
everything but its own two scripts; its one websocket hides which request did what, where plain requests can be tried with curl; and
its sessions live in the server's process, where work that takes minutes can be neither cancelled nor killed. Here the server is
Starlette on uvicorn, of which a page needs four routes; a desk is a process, so that cancelling is to end it, two pages cannot disturb
each other, and its memory is given back. What is sent is lines of JSON, over a pipe and over HTTP alike: progress, then each part as
soon as it is known.
"""

from divulge.studio.server import serve

__all__ = ["serve"]
