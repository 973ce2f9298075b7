"""Which of the items that wait are taken next: nothing is left out, and nothing taken twice."""

from __future__ import annotations

import random

from autograder.grading.grader_pool import WaitingItems


def test_items_are_taken_in_their_order() -> None:
    waiting = WaitingItems(5)
    assert [waiting.take(2) for _ in range(4)] == [[0, 1], [2, 3], [4], []]
    assert not waiting


def test_what_is_put_back_comes_first_and_as_it_was() -> None:
    waiting = WaitingItems(4)
    assert waiting.take(3) == [0, 1, 2]
    waiting.put_back([1, 2])
    waiting.put_back([])
    assert len(waiting) == 3
    assert waiting.take(1) == [1, 2]
    assert waiting.take(9) == [3]


def test_what_is_tried_again_comes_after_the_rest_and_alone() -> None:
    waiting = WaitingItems(4, most_tries=2)
    assert all(map(waiting.try_again, waiting.take(2)))
    assert len(waiting) == 4
    assert [waiting.take(2) for _ in range(4)] == [[2, 3], [0], [1], []]


def test_what_nobody_worked_on_costs_no_try() -> None:
    waiting = WaitingItems(2, most_tries=1)
    for _ in range(3):
        waiting.put_back(waiting.take(2))
    assert waiting.take(2) == [0, 1]


def test_what_was_tried_too_often_is_given_up_and_the_others_are_not() -> None:
    waiting, handed = WaitingItems(2, most_tries=3), list[list[int]]()
    while places := waiting.take(2):
        handed.append(places)
        again = [waiting.try_again(place) for place in places if place == 1 or len(handed) == 1]
    assert handed == [[0, 1], [0], [1], [1]] and again == [False] and not waiting


def test_whoever_asks_and_whatever_is_put_back_every_item_is_taken_once() -> None:
    seed = 20261127
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(300):
        count = chance.randrange(40)
        waiting, done = WaitingItems(count, most_tries=1000), list[int]()
        while waiting:
            places = waiting.take(chance.randrange(1, 9))
            assert places
            finished = chance.randrange(len(places) + 1) if chance.random() < 0.3 else len(places)
            done += places[:finished]
            for place in places[finished : finished + 1]:
                assert waiting.try_again(place)
            waiting.put_back(places[finished + 1 :])
        assert sorted(done) == list(range(count))
