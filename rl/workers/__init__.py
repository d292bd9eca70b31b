"""Workers: other processes that play for a run, in its folder or on Ray.

A worker plays games of the generation that is played now, with numbers of its own, and delivers those that
have ended every few seconds. The process of the run takes what is whole and drops what it has.
"""
